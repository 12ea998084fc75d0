// RUN: hone-opt %s --hone-autodiff --verify-diagnostics | FileCheck %s

// Integers have no derivative: an id table that claims to want one is left alone.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: tensor<4xi64> {hone.fqn = "ids", hone.kind = "param"}
// CHECK-SAME: -> (tensor<f32> {hone.kind = "loss"}, tensor<8x4xf32> {hone.fqn = "w", hone.kind = "grad"})

// expected-warning@+1 {{no gradient of the loss reaches parameter 'ids': it is not trained}}
func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %ids: tensor<4xi64> {hone.kind = "param", hone.fqn = "ids", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.embedding %w, %ids : tensor<8x4xf32>, tensor<4xi64> -> tensor<4x4xf32>
  %loss = hone.reduce sum %x dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
