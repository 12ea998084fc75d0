// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s

// A parameter without hone.requires_grad is read, but has no state and is not returned.

// CHECK-LABEL: func.func @step(
// CHECK-NOT: exp_avg.frozen
// CHECK-SAME: hone.fqn = "exp_avg.w"
// CHECK-SAME: -> (tensor<8x4xf32> {hone.donates = 1 : i64, hone.fqn = "w", hone.kind = "param"}, tensor<8x4xf32> {hone.donates = 2
// CHECK-COUNT-1: hone.adamw
// CHECK-NOT: hone.adamw

func.func @forward(%f: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "frozen"},
    %w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %f : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
