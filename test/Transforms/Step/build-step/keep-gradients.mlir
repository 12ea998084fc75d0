// RUN: hone-opt %s --hone-autodiff --hone-build-step="keep-gradients" --hone-verify-step | FileCheck %s

// The step returns the gradients, too, as they are before clipping; they donate nothing.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<f32> {hone.kind = "grad_norm"}, tensor<8x4xf32> {hone.fqn = "w", hone.kind = "grad"}) {
// CHECK: %[[NORM:.+]] = hone.global_norm %[[DW:.+]] :
// CHECK: return {{.*}}%[[NORM]], %[[DW]]

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
