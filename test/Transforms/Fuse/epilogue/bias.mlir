// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 21: the library adds a vector along the columns in its last pass.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @bias
// CHECK: hone.fused contraction
// CHECK:   hone.dot_general
// CHECK:   hone.broadcast
// CHECK:   hone.add
// CHECK-NOT: hone.fused
func.func @bias(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %v = hone.broadcast %b dims [1] : tensor<32xbf16> -> tensor<8x32xbf16>
  %r = hone.add %p, %v : tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}

// CHECK-LABEL: func.func @no_bias_in_f64
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
func.func @no_bias_in_f64(%x: tensor<8x64xf64>, %w: tensor<32x64xf64>, %b: tensor<32xf64>) -> tensor<8x32xf64> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf64>, tensor<32x64xf64> -> tensor<8x32xf64>
  %v = hone.broadcast %b dims [1] : tensor<32xf64> -> tensor<8x32xf64>
  %r = hone.add %p, %v : tensor<8x32xf64>
  return %r : tensor<8x32xf64>
}
}
