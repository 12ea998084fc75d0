// RUN: hone-opt %s --hone-autodiff --hone-build-step | FileCheck %s

// The factor is min(1, clip / (norm + 1e-6)), and exactly 1 for a bound of +inf, where inf / inf would be no number.
// hone.min passes a NaN on: a NaN norm under a finite bound spoils the update visibly.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[CLIP:[a-z0-9]+]]: tensor<f32> {hone.fqn = "clip"
// CHECK: %[[NORM:.+]] = hone.global_norm
// CHECK-DAG: %[[ONE:.+]] = hone.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[EPS:.+]] = hone.constant dense<9.99999997E-7> : tensor<f32>
// CHECK: %[[SHIFTED:.+]] = hone.add %[[NORM]], %[[EPS]]
// CHECK: %[[RATIO:.+]] = hone.div %[[CLIP]], %[[SHIFTED]]
// CHECK: %[[FACTOR:.+]] = hone.min %[[RATIO]], %[[ONE]]
// CHECK: %[[INF:.+]] = hone.constant dense<0x7F800000> : tensor<f32>
// CHECK: %[[UNBOUNDED:.+]] = hone.cmp eq, %[[CLIP]], %[[INF]]
// CHECK: %[[SCALE:.+]] = hone.select %[[UNBOUNDED]], %[[ONE]], %[[FACTOR]]
// CHECK: hone.adamw {{.*}} grad_scale %[[SCALE]]

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
