// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A product of codes takes a bias of 16 bits and an addend in its call, but no GELU.
// CHECK-LABEL: func.func @bias
// CHECK: hone.fused contraction
// CHECK: hone.dot_general
// CHECK: hone.add
// CHECK: hone.fused
// CHECK: hone.gelu
func.func @bias(%a: tensor<32x64xf8E4M3FN>, %b: tensor<48x64xf8E4M3FN>, %s: tensor<f32>, %v: tensor<48xbf16>)
    -> tensor<32x48xbf16> {
  %y = hone.dot_general %a, %b scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
      : tensor<32x64xf8E4M3FN>, tensor<48x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<32x48xbf16>
  %w = hone.broadcast %v dims [1] : tensor<48xbf16> -> tensor<32x48xbf16>
  %z = hone.add %y, %w : tensor<32x48xbf16>
  %g = hone.gelu tanh %z : tensor<32x48xbf16>
  return %g : tensor<32x48xbf16>
}

// The sum of weight gradients over micro-batches.
// CHECK-LABEL: func.func @addend
// CHECK: hone.fused contraction
// CHECK: hone.dot_general
// CHECK: hone.add
// CHECK-NOT: hone.fused
func.func @addend(%a: tensor<32x64xf8E4M3FN>, %b: tensor<48x64xf8E4M3FN>, %s: tensor<f32>, %g: tensor<32x48xf32>)
    -> tensor<32x48xf32> {
  %y = hone.dot_general %a, %b scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1]
      : tensor<32x64xf8E4M3FN>, tensor<48x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<32x48xf32>
  %z = hone.add %g, %y : tensor<32x48xf32>
  return %z : tensor<32x48xf32>
}
