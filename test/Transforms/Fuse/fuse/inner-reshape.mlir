// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Leading dimensions are rows, whatever their number.
// CHECK-LABEL: func.func @inner_reshape
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.reshape
// CHECK-NEXT:   hone.mul
// CHECK-NOT: hone.fused
func.func @inner_reshape(%x: tensor<2x4x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %t = hone.tanh %x : tensor<2x4x64xf32>
  %a = hone.reshape %t : tensor<2x4x64xf32> -> tensor<8x64xf32>
  %r = hone.mul %a, %y : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// Rows of another length.
// CHECK-LABEL: func.func @other_space
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.reshape
// CHECK: hone.fused map
func.func @other_space(%x: tensor<8x64xf32>, %y: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %t = hone.tanh %x : tensor<8x64xf32>
  %a = hone.reshape %t : tensor<8x64xf32> -> tensor<16x32xf32>
  %r = hone.mul %a, %y : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
