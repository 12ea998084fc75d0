// RUN: hone-opt %s --hone-autodiff="seed=0.25" --hone-build-step="micro-batches=4" --hone-verify-step | FileCheck %s

// Four micro-batches: @accumulate adds gradients (seeded with 1/4) and the loss over 4, @update does the rest.

// CHECK-NOT: @step
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w",
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "x", hone.kind = "input"}
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w", hone.kind = "grad"}
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"}
// CHECK-SAME: -> (tensor<8x4xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"}
// CHECK-SAME: tensor<f32> {hone.donates = 3 : i64, hone.fqn = "loss", hone.kind = "scalar"}) {
// CHECK: %[[LOSS:.+]] = hone.reduce sum
// CHECK: %[[SEED:.+]] = hone.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[DW:.+]] = hone.mul %{{.+}}, %[[X]]
// CHECK: %[[G1:.+]] = hone.add %[[G]], %[[DW]]
// CHECK: %[[K:.+]] = hone.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[SHARE:.+]] = hone.div %[[LOSS]], %[[K]]
// CHECK: %[[L1:.+]] = hone.add %[[L]], %[[SHARE]]
// CHECK: return %[[G1]], %[[L1]]

// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w",
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "exp_avg.w",
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "exp_avg_sq.w",
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w", hone.kind = "grad"}
// CHECK: %[[NORM:.+]] = hone.global_norm %[[G]]
// CHECK: %[[P:.+]], %[[M1:.+]], %[[V1:.+]] = hone.adamw %[[W]], %[[G]], %[[M]], %[[V]]
// CHECK: return %[[P]], %[[M1]], %[[V1]], %[[NORM]]

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
