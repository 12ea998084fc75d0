// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A value is rounded inside the kernel where the graph rounds it.
// CHECK-LABEL: func.func @rounding_kept
// CHECK: hone.fused map
// CHECK-NEXT:   hone.tanh
// CHECK-NEXT:   hone.cast {{.*}} -> tensor<8x64xbf16>
// CHECK-NEXT:   hone.cast {{.*}} -> tensor<8x64xf32>
// CHECK-NEXT:   hone.exp
// CHECK-NOT: hone.fused
func.func @rounding_kept(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = hone.tanh %x : tensor<8x64xf32>
  %b = hone.cast %a : tensor<8x64xf32> -> tensor<8x64xbf16>
  %c = hone.cast %b : tensor<8x64xbf16> -> tensor<8x64xf32>
  %d = hone.exp %c : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
