// Stages with several chunks: cuts are between chunks, which go round the stages or there and back. The first chunk that
// reads a parameter owns it, also where its stage has the other one too.
// RUN: hone-opt %s --dist-assign-stages="stages=2 schedule=interleaved=2" | FileCheck %s
// RUN: hone-opt %s --dist-assign-stages="stages=2 schedule=zb-v" | FileCheck %s
// RUN: hone-opt %s --dist-assign-stages="stages=2 schedule=interleaved=1" | FileCheck %s --check-prefix=ONE
// RUN: not hone-opt %s --dist-assign-stages="stages=2 schedule=interleaved=3" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not hone-opt %s --dist-assign-stages="stages=2 schedule=zb" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: module attributes {dist.chunks = 4 : i64, dist.stages = 2 : i64
// CHECK: %[[W:.*]] = dist.boundary %arg0 of "w" from 0 to 3
// CHECK: %[[A:.*]] = hone.dot_general
// CHECK-NEXT: %[[A1:.*]] = dist.boundary %[[A]] from 0 to 1
// CHECK-NEXT: %[[B:.*]] = hone.dot_general %[[A1]]
// CHECK-NEXT: %[[B1:.*]] = dist.boundary %[[B]] from 1 to 2
// CHECK-NEXT: %[[C:.*]] = hone.dot_general %[[B1]]
// CHECK-NEXT: %[[C1:.*]] = dist.boundary %[[C]] from 2 to 3
// CHECK-NEXT: hone.dot_general %[[C1]], %[[W]]
// ONE-NOT: dist.chunks
// ONE: dist.boundary %{{.*}} from 0 to 1 : tensor<8x32xf32>
// ONE-NOT: dist.boundary
// FEW: error: can be cut at 4 of its values, expected at least 5 for 2 stages of 3 chunks: a chunk hands one value to the next
// NAME: error: 'zb': expected gpipe, 1f1b, interleaved=2 (or more chunks per rank), zb-h1 or zb-v
module attributes {hone.target = "cpu znver4"} {
  func.func @forward(
      %w: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
      %v: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "v", hone.requires_grad},
      %u: tensor<32x32xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad},
      %x: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
    %0 = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %1 = hone.dot_general %0, %v batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %2 = hone.dot_general %1, %u batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %3 = hone.dot_general %2, %w batch [] x [] contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
    %loss = hone.reduce sum %3 dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
