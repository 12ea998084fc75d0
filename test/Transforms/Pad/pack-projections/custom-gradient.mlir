// RUN: hone-opt %s --hone-pack-projections | FileCheck %s

// Products in a body read its arguments, which are no parameters: they stay as they are.
// CHECK-LABEL: func.func @forward
// CHECK: hone.custom_gradient
// CHECK: hone.dot_general
// CHECK: hone.dot_general
// CHECK: hone.yield
module {
func.func @forward(
    %x: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.custom_gradient values(%x : tensor<8x4xf32>) inputs(%x : tensor<8x4xf32>)
      saved(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%g: tensor<8x4xf32>, %a: tensor<8x4xf32>, %b: tensor<8x4xf32>):
    %p = hone.dot_general %g, %a batch [] x [] contract [0] x [0] : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    %q = hone.dot_general %g, %b batch [] x [] contract [0] x [0] : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    %s = hone.add %p, %q : tensor<4x4xf32>
    %r = hone.dot_general %a, %s batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    hone.yield %r : tensor<8x4xf32>
  }
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
