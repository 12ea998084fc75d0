// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Each reader makes the mask itself; none is stored.
// CHECK-LABEL: func.func @causal_mask
// CHECK: hone.fused map ({{.*}} = %arg0 : tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK:   hone.cmp
// CHECK:   hone.select
// CHECK: hone.fused map ({{.*}} = %arg1 : tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK:   hone.cmp
// CHECK:   hone.select
func.func @causal_mask(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %i = hone.iota dim 0 : tensor<8x64xi64>
  %j = hone.iota dim 1 : tensor<8x64xi64>
  %m = hone.cmp ge, %i, %j : tensor<8x64xi64> -> tensor<8x64xi1>
  %z = hone.constant dense<0.0> : tensor<8x64xf32>
  %a = hone.select %m, %x, %z : tensor<8x64xi1>, tensor<8x64xf32>
  %b = hone.select %m, %y, %z : tensor<8x64xi1>, tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// CHECK-LABEL: func.func @one_hot
// CHECK: hone.fused row
// CHECK:   hone.iota
// CHECK:   hone.cmp eq
// CHECK:   hone.select
// CHECK:   hone.reduce sum
// CHECK-NOT: hone.fused
func.func @one_hot(%x: tensor<8x64xf32>, %t: tensor<8xi64>) -> tensor<8xf32> {
  %j = hone.iota dim 1 : tensor<8x64xi64>
  %b = hone.broadcast %t dims [0] : tensor<8xi64> -> tensor<8x64xi64>
  %m = hone.cmp eq, %j, %b : tensor<8x64xi64> -> tensor<8x64xi1>
  %z = hone.constant dense<0.0> : tensor<8x64xf32>
  %a = hone.select %m, %x, %z : tensor<8x64xi1>, tensor<8x64xf32>
  %s = hone.reduce sum %a dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %s : tensor<8xf32>
}
