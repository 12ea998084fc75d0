// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s

// One micro-batch: gradients, norm, clipping and update in one function. Arguments are parameters, optimizer state,
// buffers, inputs, key, scalars; new state donates its argument. @forward and @gradient are gone.

// CHECK-NOT: @forward
// CHECK-NOT: @gradient
// CHECK: func.func @evaluate(
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "fc.weight", hone.init = {{[^}]*}}}, hone.kind = "param", hone.requires_grad}
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "exp_avg.fc.weight", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "exp_avg_sq.fc.weight", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<16x4xf32> {{{.*}}hone.kind = "buffer"}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<16x4xf32> {{{.*}}hone.kind = "input"}
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<3xi64> {{{.*}}hone.kind = "rng"}
// CHECK-SAME: %[[LR:[a-z0-9]+]]: tensor<f32> {hone.fqn = "lr", hone.kind = "scalar"}
// CHECK-SAME: %[[WD:[a-z0-9]+]]: tensor<f32> {hone.fqn = "weight_decay", hone.kind = "scalar"}
// CHECK-SAME: %[[CLIP:[a-z0-9]+]]: tensor<f32> {hone.fqn = "clip", hone.kind = "scalar"}
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<i64> {hone.fqn = "step", hone.kind = "scalar"}
// CHECK-SAME: -> (tensor<8x4xf32> {hone.donates = 0 : i64, hone.fqn = "fc.weight", hone.kind = "param"}
// CHECK-SAME: tensor<8x4xf32> {hone.donates = 1 : i64, hone.fqn = "exp_avg.fc.weight", hone.kind = "opt"}
// CHECK-SAME: tensor<8x4xf32> {hone.donates = 2 : i64, hone.fqn = "exp_avg_sq.fc.weight", hone.kind = "opt"}
// CHECK-SAME: tensor<f32> {hone.kind = "loss"}
// CHECK-SAME: tensor<f32> {hone.kind = "grad_norm"}) {
// CHECK: %[[LOSS:.+]] = hone.reduce sum
// CHECK: %[[DW:.+]] = hone.dot_general %{{.+}} -> tensor<8x4xf32>
// CHECK: %[[NORM:.+]] = hone.global_norm %[[DW]]
// CHECK: %[[P:.+]], %[[M1:.+]], %[[V1:.+]] = hone.adamw %[[W]], %[[DW]], %[[M]], %[[V]] lr %[[LR]] weight_decay %[[WD]] step %[[T]] grad_scale %{{.+}} {beta1 = 9.000000e-01 : f64, beta2 = {{.+}} : f64, eps = 1.000000e-08 : f64}
// CHECK: return %[[P]], %[[M1]], %[[V1]], %[[LOSS]], %[[NORM]]

func.func @forward(
    %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "fc.weight", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 0.02 : f64}},
    %table: tensor<16x4xf32> {hone.kind = "buffer", hone.fqn = "table", hone.init = {dist = "file"}},
    %x: tensor<16x4xf32> {hone.kind = "input", hone.fqn = "x"},
    %key: tensor<3xi64> {hone.kind = "rng", hone.fqn = "rng"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.add %x, %table : tensor<16x4xf32>
  %d = hone.dropout %y, %key p 0.1 salt 1 : tensor<16x4xf32>, tensor<3xi64>
  %z = hone.dot_general %d, %w batch [] x [] contract [1] x [1] : tensor<16x4xf32>, tensor<8x4xf32> -> tensor<16x8xf32>
  %loss = hone.reduce sum %z dims [0, 1] : tensor<16x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
