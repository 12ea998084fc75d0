// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A softmax: two reductions whose results are read in the same kernel.
// CHECK-LABEL: func.func @row_statistic
// CHECK: hone.fused row
// CHECK:   hone.reduce max
// CHECK:   hone.reduce sum
// CHECK:   hone.div
// CHECK-NOT: hone.fused
func.func @row_statistic(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %m = hone.reduce max %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %b = hone.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %s = hone.sub %x, %b : tensor<8x64xf32>
  %e = hone.exp %s : tensor<8x64xf32>
  %z = hone.reduce sum %e dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %d = hone.broadcast %z dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %r = hone.div %e, %d : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
