// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @dropout_rides
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.dropout
// CHECK-NOT: hone.fused
func.func @dropout_rides(%x: tensor<8x64xf32>, %k: tensor<3xi64>) -> tensor<8x64xf32> {
  %t = hone.tanh %x : tensor<8x64xf32>
  %r = hone.dropout %t, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  return %r : tensor<8x64xf32>
}
