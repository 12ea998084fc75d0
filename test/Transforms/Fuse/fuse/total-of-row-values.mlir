// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @total_of_rows
// CHECK: hone.fused row
// CHECK:   hone.reduce sum {{.*}} dims [1]
// CHECK:   hone.tanh
// CHECK:   hone.reduce sum {{.*}} dims [0]
// CHECK-NOT: hone.fused
func.func @total_of_rows(%x: tensor<8x64xf32>) -> tensor<f32> {
  %s = hone.reduce sum %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %t = hone.tanh %s : tensor<8xf32>
  %r = hone.reduce sum %t dims [0] : tensor<8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
