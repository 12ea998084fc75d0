// RUN: hone-opt %s --hone-autodiff --hone-build-step="micro-batches=4" | FileCheck %s

// Gradients that were seeded with 1 are scaled where they are added.

// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w", hone.kind = "grad"}
// CHECK: %[[QUARTER:.+]] = hone.constant dense<2.500000e-01> : tensor<8x4xf32>
// CHECK: %[[SHARE:.+]] = hone.mul %{{.+}}, %[[QUARTER]]
// CHECK: hone.add %[[G]], %[[SHARE]]

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
