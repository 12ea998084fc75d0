// A stage hands on no logits where other places are left, even if stages are then less equal.
// RUN: hone-opt %s --dist-assign-stages=stages=3 | FileCheck %s

// CHECK: dist.boundary %{{.*}} from 0 to 1 : tensor<8x16xf32>
// CHECK: dist.boundary %{{.*}} from 1 to 2 : tensor<8x16xf32>
// CHECK: hone.cross_entropy
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(%w0: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w0"}, %w1: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w1"},
      %head: tensor<16x512xf32> {hone.kind = "param", hone.fqn = "head"}, %x: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "x"},
      %t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %h0 = hone.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %h1 = hone.dot_general %h0, %w1 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %z = hone.dot_general %h1, %head batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x512xf32> -> tensor<8x512xf32>
    %ce, %lse = hone.cross_entropy mean %z, %t ignore_index -100 label_smoothing 0.0 : tensor<8x512xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
    return %ce : tensor<f32>
  }
}
