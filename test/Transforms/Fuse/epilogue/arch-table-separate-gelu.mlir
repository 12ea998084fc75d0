// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s --check-prefix=INSIDE
// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_89},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s --check-prefix=APART
// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cpu},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s --check-prefix=APART

// Behaviour 30: where the library runs GELU as a kernel of its own, ours is the better one.

// INSIDE: hone.fused contraction
// INSIDE:   hone.dot_general
// INSIDE-NEXT: hone.gelu
// APART: hone.fused contraction
// APART-NEXT: hone.dot_general
// APART-NEXT: hone.yield
// APART: hone.fused map
// APART-NEXT: hone.gelu
func.func @gelu(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xbf16> {
  %u = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  %g = hone.gelu tanh %u : tensor<8x32xbf16>
  return %g : tensor<8x32xbf16>
}
