// A target with a fused kernel keeps it where that is asked for.
// RUN: hone-opt %s \
// RUN:   --pass-pipeline='builtin.module(hone-set-target{target=cpu},func.func(hone-decompose-attention{keep-fused}))' \
// RUN:   | FileCheck %s --check-prefix=KEPT
// RUN: hone-opt %s \
// RUN:   --pass-pipeline='builtin.module(hone-set-target{target=cpu},func.func(hone-decompose-attention))' \
// RUN:   | FileCheck %s --check-prefix=GONE
// RUN: hone-opt %s \
// RUN:   --pass-pipeline='builtin.module(hone-set-target{target=cuda},func.func(hone-decompose-attention{keep-fused}))' \
// RUN:   | FileCheck %s --check-prefix=GONE

// KEPT: hone.attention
// KEPT-NOT: hone.dot_general
// GONE-NOT: hone.attention
func.func @attention(%q: tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32> {
  %o, %l = hone.attention %q, %q, %q scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  return %o : tensor<2x16x4x8xf32>
}
