// A parameter of several stages belongs to the first of them. What is handed on is the parameter or a cast of it; of a
// view, each stage has its own.
// RUN: hone-opt %s --dist-assign-stages="stages=2" | FileCheck %s

// CHECK-LABEL: @forward
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(
      // CHECK: %[[TIED:.*]] = dist.boundary %arg0 of "tied" from 0 to 1 : tensor<16x32xf32>
      %tied: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "tied", hone.requires_grad},
      %cast: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "cast", hone.requires_grad},
      %ids: tensor<8xi64> {hone.kind = "input", hone.fqn = "ids", hone.vocab = 16 : i64})
      -> (tensor<f32> {hone.kind = "loss"}) {
    // CHECK: %[[LOW:.*]] = hone.cast %arg1
    // CHECK-NEXT: %[[LOW1:.*]] = dist.boundary %[[LOW]] of "cast" from 0 to 1 : tensor<32x32xbf16>
    %low = hone.cast %cast : tensor<32x32xf32> -> tensor<32x32xbf16>
    %x = hone.embedding %tied, %ids : tensor<16x32xf32>, tensor<8xi64> -> tensor<8x32xf32>
    %y = hone.cast %x : tensor<8x32xf32> -> tensor<8x32xbf16>
    %0 = hone.dot_general %y, %low batch [] x [] contract [1] x [0] : tensor<8x32xbf16>, tensor<32x32xbf16> -> tensor<8x32xbf16>
    // CHECK: %[[H:.*]] = hone.dot_general
    // CHECK-NEXT: %[[H1:.*]] = dist.boundary %[[H]] from 0 to 1
    // CHECK-NEXT: hone.dot_general %[[H1]], %[[LOW1]]
    %1 = hone.dot_general %0, %low batch [] x [] contract [1] x [0] : tensor<8x32xbf16>, tensor<32x32xbf16> -> tensor<8x32xbf16>
    %2 = hone.cast %1 : tensor<8x32xbf16> -> tensor<8x32xf32>
    // CHECK: hone.transpose %[[TIED]] [1, 0]
    %turned = hone.transpose %tied [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
    %3 = hone.dot_general %2, %turned batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %loss = hone.reduce sum %3 dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
