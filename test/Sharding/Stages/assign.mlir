// Cuts lie where one value crosses, and make the longest stage as short as possible. A mask that each layer reads is no
// such value: no parameter is part of it.
// RUN: hone-opt %s --dist-assign-stages="stages=2" | FileCheck %s --check-prefix=TWO
// RUN: hone-opt %s --dist-assign-stages="stages=3" | FileCheck %s --check-prefix=THREE

// TWO: module attributes {dist.stages = 2 : i64
// THREE: module attributes {dist.stages = 3 : i64
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(
      %w0: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w0", hone.requires_grad},
      %w1: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w1", hone.requires_grad},
      %w2: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w2", hone.requires_grad},
      %w3: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w3", hone.requires_grad},
      %x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %mask = hone.neg %x : tensor<8x64xf32>
    // THREE: %[[A:.*]] = hone.add
    // THREE-NEXT: %[[A1:.*]] = dist.boundary %[[A]] from 0 to 1 : tensor<8x64xf32>
    // THREE-NEXT: hone.dot_general %[[A1]], %arg1
    %0 = hone.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %h0 = hone.add %0, %mask : tensor<8x64xf32>
    // The two products that read %h0 cannot be cut apart.
    %1 = hone.dot_general %h0, %w1 batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %2 = hone.dot_general %h0, %w2 batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    // TWO: %[[A:.*]] = hone.add
    // TWO-NEXT: %[[A1:.*]] = dist.boundary %[[A]] from 0 to 1 : tensor<8x64xf32>
    // TWO-NEXT: hone.dot_general %[[A1]], %arg1
    // THREE: %[[B:.*]] = hone.mul
    // THREE-NEXT: %[[B1:.*]] = dist.boundary %[[B]] from 1 to 2 : tensor<8x64xf32>
    // THREE-NEXT: hone.add %[[B1]], %
    %3 = hone.mul %1, %2 : tensor<8x64xf32>
    %h1 = hone.add %3, %mask : tensor<8x64xf32>
    %4 = hone.dot_general %h1, %w3 batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %loss = hone.reduce sum %4 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
