// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @bias
// CHECK: hone.fused contraction
// CHECK:   hone.dot_general
// CHECK:   hone.broadcast
// CHECK:   hone.add
// CHECK-NOT: hone.fused
func.func @bias(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %v = hone.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %v : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
