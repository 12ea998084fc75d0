// RUN: hone-opt %s --hone-set-mesh-invariant | FileCheck %s
// RUN: not hone-opt %s --hone-pipeline="upto=import exact target=cuda" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not hone-opt %s --hone-set-target=target=cuda --hone-set-mesh-invariant 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: hone-opt %s --hone-set-mesh-invariant --hone-chunk-loss="chunk=2 report" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: hone-opt %s --hone-chunk-loss=chunk=2 | FileCheck %s --check-prefix=CHUNKS
// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-mesh-invariant,func.func(hone-fuse-groups))' | FileCheck %s --check-prefix=APART
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups))' | FileCheck %s --check-prefix=ONTO

// CHECK: module attributes {hone.mesh_invariant}
// CUDA: error: is for a GPU, whose library orders sums by the shape, expected a CPU of a mesh-invariant module

// Chunks of rows would add their terms of a weight's gradient one after the other.
// WHOLE: remark: the loss stays whole: chunks of a rank's rows would add in another order
// WHOLE-LABEL: func.func @loss
// WHOLE-COUNT-1: hone.cross_entropy mean
// WHOLE-NOT: hone.cross_entropy none
// CHUNKS-LABEL: @loss
// CHUNKS: hone.cross_entropy none
func.func @loss(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<8xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<6x4xf32>) {
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1] : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<8x6xf32>, tensor<8xi64> -> tensor<f32>, tensor<8xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<8x6xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x6xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0] : tensor<8x6xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  return %loss, %dw : tensor<f32>, tensor<6x4xf32>
}

// A sum of rows is complete before it is added to another.
// APART-LABEL: @tied
// APART: hone.fused gather
// APART-NEXT: hone.embedding_bwd
// APART-NEXT: hone.yield
// APART: hone.add
// ONTO-LABEL: @tied
// ONTO: hone.embedding_bwd
// ONTO-NEXT: hone.add
func.func @tied(%d: tensor<8x4xf32>, %ids: tensor<8xi64>, %head: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %rows = hone.embedding_bwd %d, %ids : tensor<8x4xf32>, tensor<8xi64> -> tensor<6x4xf32>
  %sum = hone.add %rows, %head : tensor<6x4xf32>
  return %sum : tensor<6x4xf32>
}
