// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The library takes one.
// CHECK-LABEL: func.func @second_addend
// CHECK: hone.fused contraction
// CHECK:   hone.add
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK-NEXT:   hone.add
func.func @second_addend(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %g: tensor<8x32xf32>, %h: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.add %p, %g : tensor<8x32xf32>
  %r = hone.add %s, %h : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// It adds the bias first; another order could round otherwise.
// CHECK-LABEL: func.func @addend_then_bias
// CHECK: hone.fused contraction
// CHECK:   hone.add
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK:   hone.broadcast
func.func @addend_then_bias(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>, %h: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %s = hone.add %p, %h : tensor<8x32xf32>
  %v = hone.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %r = hone.add %s, %v : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
