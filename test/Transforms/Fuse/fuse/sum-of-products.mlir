// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The later of two makers takes their sum: what the first reads need not wait for the second.
// CHECK-LABEL: func.func @of_two_products
// CHECK:      %[[P:.*]] = hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK:      hone.fused contraction ({{.*}} = %[[P]] :
// CHECK:        hone.dot_general
// CHECK-NEXT:   hone.add
func.func @of_two_products(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %y: tensor<8x16xf32>, %v: tensor<32x16xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %q = hone.dot_general %y, %v batch [] x [] contract [1] x [1]
      : tensor<8x16xf32>, tensor<32x16xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %q : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// The gradient of a tied weight: the scatter touches the rows of its ids alone.
// CHECK-LABEL: func.func @of_product_and_scatter
// CHECK:      %[[P:.*]] = hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK:      hone.fused gather ({{.*}} = %[[P]] :
// CHECK-NEXT:   hone.embedding_bwd
// CHECK-NEXT:   hone.add
func.func @of_product_and_scatter(%x: tensor<8x64xf32>, %y: tensor<8x16xf32>, %ids: tensor<8xi64>)
    -> tensor<64x16xf32> {
  %p = hone.dot_general %x, %y batch [] x [] contract [0] x [0]
      : tensor<8x64xf32>, tensor<8x16xf32> -> tensor<64x16xf32>
  %q = hone.embedding_bwd %y, %ids : tensor<8x16xf32>, tensor<8xi64> -> tensor<64x16xf32>
  %r = hone.add %p, %q : tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}
