// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 23: nothing else reads the argument, so it is not stored.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @argument_is_dead
// CHECK: %[[C:.*]] = hone.fused contraction {{.*}} -> tensor<8x32xbf16>
// CHECK:   hone.dot_general
// CHECK:   %[[G:.*]] = hone.gelu tanh
// CHECK:   hone.yield %[[G]] :
// CHECK-NOT: hone.fused
func.func @argument_is_dead(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %u = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %g = hone.gelu tanh %u : tensor<8x32xbf16>
  return %g : tensor<8x32xbf16>
}
}
