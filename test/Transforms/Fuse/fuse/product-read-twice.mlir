// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The raw product has another reader.
// CHECK-LABEL: func.func @product_read_twice
// CHECK: %[[PRODUCT:.*]] = hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: %[[SUM:.*]] = hone.fused map
// CHECK: return %[[PRODUCT]], %[[SUM]]
func.func @product_read_twice(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %h: tensor<8x32xf32>)
    -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %h : tensor<8x32xf32>
  return %p, %r : tensor<8x32xf32>, tensor<8x32xf32>
}

// The addend would be the product itself.
// CHECK-LABEL: func.func @doubled_product
// CHECK: hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused map
func.func @doubled_product(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %p : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
