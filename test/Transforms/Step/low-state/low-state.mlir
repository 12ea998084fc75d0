// RUN: hone-opt %s --hone-low-state --canonicalize | FileCheck %s

// Parameters and moments are bf16; rows are picked first and widened then; gradients stay f32.
// CHECK-LABEL: @step
// CHECK-SAME: (%arg0: tensor<8x4xbf16> {hone.fqn = "w", hone.kind = "param"
// CHECK-SAME: %arg1: tensor<4xbf16> {hone.fqn = "g", hone.kind = "param"
// CHECK-SAME: %arg2: tensor<8x4xbf16> {hone.fqn = "exp_avg.w", hone.kind = "opt"
// CHECK-SAME: %arg3: tensor<8x4xbf16> {hone.fqn = "exp_avg_sq.w", hone.kind = "opt"
// CHECK-SAME: %[[KEY:arg[0-9]+]]: tensor<3xi64> {hone.fqn = "rng", hone.kind = "rng"}) -> (tensor<8x4xbf16>
func.func @step(
    %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %g: tensor<4xf32> {hone.kind = "param", hone.fqn = "g", hone.requires_grad},
    %m: tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "exp_avg.w"},
    %v: tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "exp_avg_sq.w"},
    %ids: tensor<3xi64> {hone.kind = "input", hone.fqn = "ids"},
    %x: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"},
    %t: tensor<i64> {hone.kind = "scalar", hone.fqn = "step"})
    -> (tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<4xf32> {hone.kind = "param", hone.fqn = "g", hone.donates = 1 : i64},
        tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "exp_avg.w", hone.donates = 2 : i64},
        tensor<8x4xf32> {hone.kind = "opt", hone.fqn = "exp_avg_sq.w", hone.donates = 3 : i64}) {
  // CHECK: %[[G:.+]] = hone.cast %arg1 : tensor<4xbf16> -> tensor<4xf32>
  // CHECK: %[[ROWS:.+]] = hone.embedding %arg0, %{{.+}} : tensor<8x4xbf16>, tensor<3xi64> -> tensor<3x4xbf16>
  // CHECK: %[[WIDE:.+]] = hone.cast %[[ROWS]] : tensor<3x4xbf16> -> tensor<3x4xf32>
  // CHECK: hone.rms_norm %[[WIDE]] scale %[[G]]
  %rows = hone.embedding %w, %ids : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %n, %rstd = hone.rms_norm %rows scale %g eps 1.0e-05
      : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>)
  // The cast of the transposed weight folds into the transposed argument.
  // CHECK: %[[T:.+]] = hone.transpose %arg0 [1, 0] : tensor<8x4xbf16> -> tensor<4x8xbf16>
  // CHECK: hone.dot_general %{{.+}}, %[[T]]
  %wt = hone.transpose %w [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %wl = hone.cast %wt : tensor<4x8xf32> -> tensor<4x8xbf16>
  %nl = hone.cast %n : tensor<3x4xf32> -> tensor<3x4xbf16>
  %y = hone.dot_general %nl, %wl batch [] x [] contract [1] x [0]
      : tensor<3x4xbf16>, tensor<4x8xbf16> -> tensor<3x8xf32>
  %dw = hone.dot_general %y, %rows batch [] x [] contract [0] x [0]
      : tensor<3x8xf32>, tensor<3x4xf32> -> tensor<8x4xf32>
  %dg = hone.reduce sum %dw dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: hone.adamw %arg0, %{{.+}}, %arg2, %arg3 {{.*}} rng %[[KEY]] salt 1073741824 {
  // CHECK-SAME: (tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xbf16>, tensor<8x4xbf16>,
  // CHECK-SAME: -> (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<8x4xbf16>)
  %w1, %m1, %v1 = hone.adamw %w, %dw, %m, %v lr %x weight_decay %x step %t grad_scale %x
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  // Each update draws other numbers.
  // CHECK: hone.sgd %arg1, %{{.+}} rng %[[KEY]] salt 1073741825 : (tensor<4xbf16>, tensor<4xf32>
  %g1 = hone.sgd %g, %dg lr %x weight_decay %x grad_scale %x
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %w1, %g1, %m1, %v1 : tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// A key that is there serves; state that is no moment stays exact.
// CHECK-LABEL: @update
// CHECK-SAME: %[[KEY:arg[0-9]+]]: tensor<3xi64>
// CHECK-SAME: tensor<f32> {hone.fqn = "loss_scale", hone.kind = "opt"}
// CHECK-SAME: tensor<4xbf16> {hone.fqn = "momentum.w", hone.kind = "opt"}) -> (tensor<4xbf16>
func.func @update(
    %w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"},
    %s: tensor<f32> {hone.kind = "opt", hone.fqn = "loss_scale"},
    %b: tensor<4xf32> {hone.kind = "opt", hone.fqn = "momentum.w"})
    -> (tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<4xf32> {hone.kind = "opt", hone.fqn = "momentum.w", hone.donates = 3 : i64}) {
  // CHECK: hone.sgd {{.*}} rng %[[KEY]] salt 1073741824
  %w1, %b1 = hone.sgd %w, %w lr %s weight_decay %s grad_scale %s buffer %b {momentum = 0.9}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  return %w1, %b1 : tensor<4xf32>, tensor<4xf32>
}
