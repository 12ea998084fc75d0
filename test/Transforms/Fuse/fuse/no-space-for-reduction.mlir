// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Partial results are sums.
// CHECK-LABEL: func.func @column_maximum
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.reduce max
func.func @column_maximum(%x: tensor<8x64xf32>) -> tensor<64xf32> {
  %t = hone.tanh %x : tensor<8x64xf32>
  %r = hone.reduce max %t dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// Neither rows nor columns.
// CHECK-LABEL: func.func @middle_sum
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.reduce sum
func.func @middle_sum(%x: tensor<8x4x64xf32>) -> tensor<8x64xf32> {
  %t = hone.tanh %x : tensor<8x4x64xf32>
  %r = hone.reduce sum %t dims [1] : tensor<8x4x64xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
