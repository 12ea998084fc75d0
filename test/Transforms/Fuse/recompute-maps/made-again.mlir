// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-recompute-maps,hone-fuse-groups,hone-verify-groups))' --split-input-file | FileCheck %s

// What the forward kernel computes on its way, the backward one computes again from what both read.
// CHECK-LABEL: func.func @gate
// CHECK: hone.fused map {{.*}} -> tensor<8x64xf32> {
// CHECK:   hone.neg
// CHECK: hone.fused contraction
// CHECK: hone.fused map ({{.*}}%{{.*}} = %arg0 :
// CHECK:   hone.neg {{.*}} {hone.clone}
func.func @gate(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %t = hone.neg %g : tensor<8x64xf32>
  %s = hone.mul %t, %u : tensor<8x64xf32>
  %p = hone.dot_general %s, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

// The backward pass of a norm reads its input and one number per row.
// CHECK-LABEL: func.func @normalised
// CHECK: %[[F:.*]]:2 = hone.fused row (%{{.*}} = %arg0 : tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xbf16>)
// CHECK: %[[P:.*]] = hone.fused contraction
// CHECK: hone.fused row
// CHECK-DAG: hone.mul {{.*}} {hone.clone}
// CHECK: hone.reduce sum
func.func @normalised(%x: tensor<8x64xf32>, %w: tensor<64x64xbf16>) -> tensor<8xf32> {
  %q = hone.mul %x, %x : tensor<8x64xf32>
  %m = hone.reduce sum %q dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %r = hone.rsqrt %m : tensor<8xf32>
  %b = hone.broadcast %r dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %h = hone.mul %x, %b : tensor<8x64xf32>
  %n = hone.cast %h : tensor<8x64xf32> -> tensor<8x64xbf16>
  %p = hone.dot_general %n, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %c = hone.cast %p : tensor<8x64xbf16> -> tensor<8x64xf32>
  %d = hone.mul %c, %h : tensor<8x64xf32>
  %s = hone.reduce sum %d dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// A product reads it: it is stored whatever its other readers do.
// CHECK-LABEL: func.func @stored_anyway
// CHECK-NOT: hone.clone
func.func @stored_anyway(%g: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %t = hone.neg %g : tensor<8x64xf32>
  %p = hone.dot_general %t, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

// Two values of its size would be read instead of one.
// CHECK-LABEL: func.func @larger_operands
// CHECK-NOT: hone.clone
func.func @larger_operands(%g: tensor<8x64xf32>, %h: tensor<8x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<8x64xf32> {
  %t = hone.add %g, %h : tensor<8x64xf32>
  %s = hone.mul %t, %u : tensor<8x64xf32>
  %p = hone.dot_general %s, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

// Computing takes longer than reading: 24 operations an element, twice in a row.
// CHECK-LABEL: func.func @costly
// CHECK-NOT: hone.clone
func.func @costly(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %c = hone.cos %g : tensor<8x64xf32>
  %t = hone.sin %c : tensor<8x64xf32>
  %s = hone.mul %t, %u : tensor<8x64xf32>
  %p = hone.dot_general %s, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

// A mask is stored, not drawn again, unless autodiff did so.
// CHECK-LABEL: func.func @random
// CHECK-NOT: hone.clone
func.func @random(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>, %key: tensor<3xi64>)
    -> tensor<8x64xf32> {
  %t = hone.dropout %g, %key p 0.1 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  %s = hone.mul %t, %u : tensor<8x64xf32>
  %p = hone.dot_general %s, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %d = hone.mul %p, %t : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
