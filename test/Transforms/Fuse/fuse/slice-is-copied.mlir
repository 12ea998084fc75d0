// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Batches are not one stride apart from each other's rows: only the last dimension may be cut.
// CHECK-LABEL: func.func @slice_of_positions
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.slice
// CHECK: hone.fused attention
func.func @slice_of_positions(%p: tensor<2x20x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
  %q = hone.slice %p [0, 0, 0, 0] to [2, 16, 4, 8] by [1, 1, 1, 1] : tensor<2x20x4x8xf32> -> tensor<2x16x4x8xf32>
  %o, %l = hone.attention %q, %q, %q scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %o, %l : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
}

// A library product reads contiguous matrices.
// CHECK-LABEL: func.func @slice_read_by_a_product
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.slice
// CHECK: hone.fused contraction
func.func @slice_read_by_a_product(%p: tensor<16x96xf32>, %w: tensor<8x32xf32>) -> tensor<16x8xf32> {
  %a = hone.slice %p [0, 32] to [16, 64] by [1, 1] : tensor<16x96xf32> -> tensor<16x32xf32>
  %r = hone.dot_general %a, %w batch [] x [] contract [1] x [1]
      : tensor<16x32xf32>, tensor<8x32xf32> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// Every second element: no vector holds neighbours.
// CHECK-LABEL: func.func @steps
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.slice
func.func @steps(%p: tensor<16x96xf32>) -> tensor<16x48xf32> {
  %a = hone.slice %p [0, 0] to [16, 96] by [1, 2] : tensor<16x96xf32> -> tensor<16x48xf32>
  %r = hone.tanh %a : tensor<16x48xf32>
  return %r : tensor<16x48xf32>
}

// Behind a reshape that splits the columns, rows of a map would lie in two steps.
// CHECK-LABEL: func.func @reshaped
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.slice
func.func @reshaped(%p: tensor<16x96xf32>) -> tensor<16x4x8xf32> {
  %a = hone.slice %p [0, 32] to [16, 64] by [1, 1] : tensor<16x96xf32> -> tensor<16x32xf32>
  %h = hone.reshape %a : tensor<16x32xf32> -> tensor<16x4x8xf32>
  %r = hone.tanh %h : tensor<16x4x8xf32>
  return %r : tensor<16x4x8xf32>
}
