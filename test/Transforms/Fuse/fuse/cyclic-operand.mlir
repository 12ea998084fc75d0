// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A table that repeats along the batch is read in place.
// CHECK-LABEL: func.func @cyclic
// CHECK: hone.fused map
// CHECK-NEXT:   hone.broadcast
// CHECK-NEXT:   hone.add
// CHECK-NOT: hone.fused
func.func @cyclic(%x: tensor<2x8x64xf32>, %t: tensor<8x64xf32>) -> tensor<2x8x64xf32> {
  %b = hone.broadcast %t dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64xf32>
  %r = hone.add %x, %b : tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}
