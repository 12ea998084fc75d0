// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The two maps read one value, but the product stands between them.
// CHECK-LABEL: func.func @anchor_between
// WHY-COUNT-2: (hone.dot_general lies between)
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused contraction
// CHECK: hone.fused map
// CHECK-NEXT:   hone.mul
func.func @anchor_between(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %t = hone.tanh %x : tensor<8x64xf32>
  %p = hone.dot_general %t, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  %r = hone.mul %t, %p : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
