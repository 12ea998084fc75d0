// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Batches are not one stride apart from each other's rows: only the last dimension may be cut.
// CHECK-LABEL: func.func @slice_of_positions
// CHECK: hone.group move
// CHECK-NEXT:   hone.slice
// CHECK: hone.group attention
func.func @slice_of_positions(%p: tensor<2x20x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
  %q = hone.slice %p [0, 0, 0, 0] to [2, 16, 4, 8] by [1, 1, 1, 1] : tensor<2x20x4x8xf32> -> tensor<2x16x4x8xf32>
  %o, %l = hone.attention %q, %q, %q scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %o, %l : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
}

// Row kernels read contiguous buffers.
// CHECK-LABEL: func.func @slice_read_by_a_map
// CHECK: hone.group move
// CHECK-NEXT:   hone.slice
// CHECK: hone.group map
func.func @slice_read_by_a_map(%p: tensor<16x96xf32>) -> tensor<16x32xf32> {
  %a = hone.slice %p [0, 32] to [16, 64] by [1, 1] : tensor<16x96xf32> -> tensor<16x32xf32>
  %r = hone.tanh %a : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
