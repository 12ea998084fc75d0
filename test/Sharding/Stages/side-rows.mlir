// A vector has one column: the rows of a loss before they are added up.
// RUN: hone-opt %s --dist-assign-stages="stages=3 cuts=w1,w2" | FileCheck %s

// CHECK-LABEL: module @rows
// CHECK: hone.cross_entropy none
// CHECK: %[[ROWS:.*]] = hone.reshape %{{.*}} : tensor<8xf32> -> tensor<8x1xf32>
// CHECK: %[[BESIDE:.*]] = hone.concat %[[ROWS]], %{{.*}} dim 1 : (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x16xf32>) -> tensor<8x18xf32>
// CHECK: dist.boundary %[[BESIDE]] from 1 to 2 : tensor<8x18xf32>
// CHECK: hone.slice %{{.*}} [0, 0] to [8, 1] by [1, 1] : tensor<8x18xf32> -> tensor<8x1xf32>
// CHECK: hone.slice %{{.*}} [0, 1] to [8, 2] by [1, 1] : tensor<8x18xf32> -> tensor<8x1xf32>
module @rows attributes {hone.target = "cpu znver4"} {
  func.func @forward(%w0: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w0"}, %w1: tensor<16x16xf32> {hone.kind = "param", hone.fqn = "w1"},
      %w2: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "w2"},
      %x: tensor<8x16xf32> {hone.kind = "input", hone.fqn = "x"}, %t: tensor<8xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %h0 = hone.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %m = hone.reduce max %h0 dims [1] : tensor<8x16xf32> -> tensor<8xf32>
    %b = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    %d = hone.sub %h0, %b : tensor<8x16xf32>
    %s0 = hone.softmax %d : tensor<8x16xf32>
    %h1 = hone.dot_general %s0, %w1 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %rows, %lse = hone.cross_entropy none %h1, %t ignore_index -100 label_smoothing 0.0 : tensor<8x16xf32>, tensor<8xi64> -> tensor<8xf32>, tensor<8xf32>
    %mixed = hone.dot_general %rows, %w2 batch [] x [] contract [0] x [0] : tensor<8xf32>, tensor<8x8xf32> -> tensor<8xf32>
    %main = hone.reduce sum %mixed dims [0] : tensor<8xf32> -> tensor<f32>
    %square = hone.mul %m, %m : tensor<8xf32>
    %all = hone.reduce sum %s0 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    %aux = hone.reduce sum %square dims [0] : tensor<8xf32> -> tensor<f32>
    %both = hone.mul %aux, %all : tensor<f32>
    %loss = hone.add %main, %both : tensor<f32>
    return %loss : tensor<f32>
  }
}
