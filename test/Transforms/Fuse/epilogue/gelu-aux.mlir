// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 22: the call stores GELU and its argument, which the backward pass reads.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @both_results
// CHECK: %[[C:.*]]:2 = hone.fused contraction {{.*}} -> (tensor<8x32xbf16>, tensor<8x32xbf16>)
// CHECK:   hone.dot_general
// CHECK:   hone.broadcast
// CHECK:   %[[U:.*]] = hone.add
// CHECK:   %[[G:.*]] = hone.gelu tanh %[[U]]
// CHECK:   hone.yield %[[U]], %[[G]]
// CHECK-NOT: hone.fused
// CHECK: return %[[C]]#0, %[[C]]#1
func.func @both_results(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %v = hone.broadcast %b dims [1] : tensor<32xbf16> -> tensor<8x32xbf16>
  %u = hone.add %p, %v : tensor<8x32xbf16>
  %g = hone.gelu tanh %u : tensor<8x32xbf16>
  return %u, %g : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// The library stores the argument in rows of a multiple of 8 elements.
// CHECK-LABEL: func.func @rows_of_36
// CHECK: hone.fused contraction
// CHECK-NOT: hone.gelu
// CHECK: hone.fused map
// CHECK-NEXT: hone.gelu
func.func @rows_of_36(%x: tensor<8x64xbf16>, %w: tensor<36x64xbf16>) -> (tensor<8x36xbf16>, tensor<8x36xbf16>) {
  %u = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<36x64xbf16> -> tensor<8x36xbf16>
  %g = hone.gelu tanh %u : tensor<8x36xbf16>
  return %u, %g : tensor<8x36xbf16>, tensor<8x36xbf16>
}

// CHECK-LABEL: func.func @batched
// CHECK: hone.fused contraction
// CHECK-NOT: hone.gelu
// CHECK: hone.fused map
func.func @batched(%x: tensor<3x8x64xbf16>, %w: tensor<3x32x64xbf16>) -> tensor<3x8x32xbf16> {
  %u = hone.dot_general %x, %w batch [0] x [0] contract [2] x [2]
      : tensor<3x8x64xbf16>, tensor<3x32x64xbf16> -> tensor<3x8x32xbf16>
  %g = hone.gelu tanh %u : tensor<3x8x32xbf16>
  return %g : tensor<3x8x32xbf16>
}

// CHECK-LABEL: func.func @of_a_sum
// CHECK: hone.fused contraction
// CHECK:   hone.add
// CHECK-NEXT: hone.yield
// CHECK: hone.fused map
// CHECK-NEXT: hone.gelu
func.func @of_a_sum(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %c: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %u = hone.add %p, %c : tensor<8x32xbf16>
  %g = hone.gelu tanh %u : tensor<8x32xbf16>
  return %g : tensor<8x32xbf16>
}
}
