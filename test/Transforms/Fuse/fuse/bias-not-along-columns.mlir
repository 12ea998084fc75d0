// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The library adds a bias along columns only.
// CHECK-LABEL: func.func @value_per_row_is_no_bias
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK:   hone.broadcast
func.func @value_per_row_is_no_bias(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %b: tensor<8xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %v = hone.broadcast %b dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %v : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Columns of the matrix are two dimensions here; the bias covers one.
// CHECK-LABEL: func.func @bias_over_two_free_dims
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
func.func @bias_over_two_free_dims(%x: tensor<8x64xf32>, %w: tensor<4x32x64xf32>, %b: tensor<32xf32>)
    -> tensor<8x4x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [2]
      : tensor<8x64xf32>, tensor<4x32x64xf32> -> tensor<8x4x32xf32>
  %v = hone.broadcast %b dims [2] : tensor<32xf32> -> tensor<8x4x32xf32>
  %r = hone.add %p, %v : tensor<8x4x32xf32>
  return %r : tensor<8x4x32xf32>
}
