// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @scatter_addend
// CHECK: hone.fused gather
// CHECK-NEXT:   hone.embedding_bwd
// CHECK-NEXT:   hone.add
// CHECK-NOT: hone.fused
func.func @scatter_addend(%g: tensor<2x16x64xf32>, %ids: tensor<2x16xi64>, %h: tensor<256x64xf32>)
    -> tensor<256x64xf32> {
  %t = hone.embedding_bwd %g, %ids : tensor<2x16x64xf32>, tensor<2x16xi64> -> tensor<256x64xf32>
  %r = hone.add %t, %h : tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}

// The gradient itself has another reader.
// CHECK-LABEL: func.func @scatter_read_twice
// CHECK: hone.fused gather
// CHECK-NEXT:   hone.embedding_bwd
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
func.func @scatter_read_twice(%g: tensor<2x16x64xf32>, %ids: tensor<2x16xi64>, %h: tensor<256x64xf32>)
    -> (tensor<256x64xf32>, tensor<256x64xf32>) {
  %t = hone.embedding_bwd %g, %ids : tensor<2x16x64xf32>, tensor<2x16xi64> -> tensor<256x64xf32>
  %r = hone.add %t, %h : tensor<256x64xf32>
  return %t, %r : tensor<256x64xf32>, tensor<256x64xf32>
}
