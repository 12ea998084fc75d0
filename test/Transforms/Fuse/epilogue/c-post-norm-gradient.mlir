// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 29: behind a norm, two gradients meet; the contraction that makes one of them adds the other.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @two_gradients_meet
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.add
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused row
func.func @two_gradients_meet(%du: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %dz: tensor<8x32xbf16>,
    %x: tensor<8x32xbf16>) -> tensor<8xbf16> {
  %p = hone.dot_general %du, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %dn = hone.add %p, %dz : tensor<8x32xbf16>
  %m = hone.mul %dn, %x : tensor<8x32xbf16>
  %s = hone.reduce sum %m dims [1] : tensor<8x32xbf16> -> tensor<8xbf16>
  return %s : tensor<8xbf16>
}

// Two products that are added: one is the addend of the other.
// CHECK-LABEL: func.func @two_products_meet
// CHECK: %[[A:.*]] = hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused contraction ({{.*}} = %[[A]] : tensor<8x32xbf16>)
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.add
// CHECK-NOT: hone.fused
func.func @two_products_meet(%dq: tensor<8x64xbf16>, %dk: tensor<8x64xbf16>, %w: tensor<64x32xbf16>,
    %v: tensor<64x32xbf16>) -> tensor<8x32xbf16> {
  %p = hone.dot_general %dq, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %q = hone.dot_general %dk, %v batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %s = hone.add %p, %q : tensor<8x32xbf16>
  return %s : tensor<8x32xbf16>
}
}
