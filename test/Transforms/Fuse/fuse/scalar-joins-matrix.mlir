// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @scalar_joins_matrix
// CHECK: hone.fused map
// CHECK-NEXT:   hone.exp {{.*}} : tensor<f32>
// CHECK:   hone.mul
// CHECK-NOT: hone.fused
func.func @scalar_joins_matrix(%x: tensor<8x64xf32>, %s: tensor<f32>) -> tensor<8x64xf32> {
  %e = hone.exp %s : tensor<f32>
  %b = hone.broadcast %e dims [] : tensor<f32> -> tensor<8x64xf32>
  %r = hone.mul %x, %b : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
