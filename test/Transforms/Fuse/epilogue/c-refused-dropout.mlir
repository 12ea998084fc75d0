// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 28: a dropout between the product and the residual add takes both into a kernel of our own.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @dropout_between
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
// CHECK-NEXT:   hone.dropout
// CHECK-NEXT:   hone.add
func.func @dropout_between(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %r: tensor<8x32xbf16>, %key: tensor<3xi64>)
    -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %d = hone.dropout %p, %key p 0.1 salt 3 : tensor<8x32xbf16>, tensor<3xi64>
  %y = hone.add %r, %d : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
}
