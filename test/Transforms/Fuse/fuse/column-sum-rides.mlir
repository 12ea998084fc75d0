// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @column_sums
// CHECK: hone.fused row
// CHECK:   hone.mul
// CHECK:   hone.reduce sum {{.*}} dims [0]
// CHECK:   hone.reduce sum {{.*}} dims [1]
// CHECK-NOT: hone.fused
func.func @column_sums(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>,
    tensor<8xf32>) {
  %r = hone.mul %x, %y : tensor<8x64xf32>
  %c = hone.reduce sum %r dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  %s = hone.reduce sum %r dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %r, %c, %s : tensor<8x64xf32>, tensor<64xf32>, tensor<8xf32>
}
