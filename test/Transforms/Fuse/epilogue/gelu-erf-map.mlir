// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 24: no library has GELU by erf; it is a map of our own, forward and backward.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @forward
// CHECK: hone.fused contraction
// CHECK-NOT: hone.gelu
// CHECK: hone.fused map
// CHECK-NEXT: hone.gelu erf
func.func @forward(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %u = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %g = hone.gelu erf %u : tensor<8x32xbf16>
  return %g : tensor<8x32xbf16>
}

// CHECK-LABEL: func.func @backward
// CHECK: hone.fused contraction
// CHECK-NOT: hone.gelu_bwd
// CHECK: hone.fused map
// CHECK-NEXT: hone.gelu_bwd erf
func.func @backward(%dy: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %u: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %dg = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %du = hone.gelu_bwd erf %dg, %u : tensor<8x32xbf16>
  return %du : tensor<8x32xbf16>
}
}
