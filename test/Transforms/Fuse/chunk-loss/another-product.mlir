// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=2 report=true}))' -o /dev/null 2>&1 | FileCheck %s

// A product that is added to the gradient of the logits is not the product of the logits. Here it depends on the loss, so
// that the chunks would wait for what they make.

// CHECK: remark: the loss stays whole: an operand of the head depends on what the head computes
func.func @f(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %t: tensor<4xi64>, %a: tensor<4x2xf32>, %b: tensor<2x5xf32>)
    -> (tensor<f32>, tensor<5x3xf32>) {
  %g = hone.constant dense<1.0> : tensor<f32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<4x3xf32>, tensor<5x3xf32> -> tensor<4x5xf32>
  %loss, %lse = hone.cross_entropy sum %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<4x5xf32>, tensor<4xi64> -> tensor<f32>, tensor<4xf32>
  %r = hone.broadcast %loss dims [] : tensor<f32> -> tensor<4x2xf32>
  %s = hone.mul %a, %r : tensor<4x2xf32>
  %d = hone.cross_entropy_bwd sum %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<4x5xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x5xf32>
  %other = hone.dot_general %s, %b batch [] x [] contract [1] x [0]
      : tensor<4x2xf32>, tensor<2x5xf32> -> tensor<4x5xf32>
  %sum = hone.add %d, %other : tensor<4x5xf32>
  %dw = hone.dot_general %sum, %x batch [] x [] contract [0] x [0]
      : tensor<4x5xf32>, tensor<4x3xf32> -> tensor<5x3xf32>
  return %loss, %dw : tensor<f32>, tensor<5x3xf32>
}
