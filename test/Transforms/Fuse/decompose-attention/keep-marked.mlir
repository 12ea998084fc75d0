// On a GPU the attention that its library takes stays; the rest becomes products.
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-decompose-attention{keep-fused}))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-decompose-attention))' | FileCheck %s --check-prefix=GONE

// GONE-NOT: hone.attention
module attributes {hone.target = "cuda sm_90"} {
  // CHECK-LABEL: @attention
  // CHECK: hone.attention {{.*}} scale 1.000000e+00 {hone.workspace = 0 : i64}
  // CHECK-NOT: hone.attention
  // CHECK-COUNT-2: hone.dot_general
  func.func @attention(%q: tensor<2x16x4x8xbf16>) -> (tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>) {
    %o, %l = hone.attention %q, %q, %q scale 1.0 {hone.workspace = 0 : i64}
        : (tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>)
        -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
    %p, %m = hone.attention %q, %q, %q scale 0.5
        : (tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>)
        -> (tensor<2x16x4x8xbf16>, tensor<2x4x16xf32>)
    return %o, %p : tensor<2x16x4x8xbf16>, tensor<2x16x4x8xbf16>
  }
}
