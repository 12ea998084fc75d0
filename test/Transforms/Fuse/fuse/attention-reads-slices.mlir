// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The parts of a packed projection are read in place.
// CHECK-LABEL: func.func @packed
// CHECK: hone.slice
// CHECK: hone.slice
// CHECK: hone.slice
// CHECK: hone.fused attention
// CHECK-NOT: hone.fused
func.func @packed(%p: tensor<2x16x96xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
  %a = hone.slice %p [0, 0, 0] to [2, 16, 32] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %b = hone.slice %p [0, 0, 32] to [2, 16, 64] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %c = hone.slice %p [0, 0, 64] to [2, 16, 96] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %q = hone.reshape %a : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %k = hone.reshape %b : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %v = hone.reshape %c : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %o, %l = hone.attention %q, %k, %v causal scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %o, %l : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
}
