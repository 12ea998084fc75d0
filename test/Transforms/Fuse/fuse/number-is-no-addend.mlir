// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// It would have to be stored as a matrix.
// CHECK-LABEL: func.func @number_is_no_addend
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK:   hone.constant
func.func @number_is_no_addend(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %one = hone.constant dense<1.0> : tensor<8x32xf32>
  %r = hone.add %p, %one : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
