// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @bias_and_addend
// CHECK: hone.fused contraction ({{.*}}, {{.*}}, {{.*}} : tensor<32xf32>, %[[ADDEND:.*]] = %arg3 : tensor<8x32xf32>)
// CHECK:   hone.dot_general
// CHECK:   hone.add
// CHECK-NEXT:   hone.add %[[ADDEND]]
// CHECK-NOT: hone.fused
func.func @bias_and_addend(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>, %h: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %v = hone.broadcast %b dims [1] : tensor<32xf32> -> tensor<8x32xf32>
  %s = hone.add %v, %p : tensor<8x32xf32>
  %r = hone.add %h, %s : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// The other product is the addend: one of them runs first.
// CHECK-LABEL: func.func @product_of_two_products
// CHECK: %[[FIRST:.*]] = hone.fused contraction
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.yield
// CHECK: hone.fused contraction ({{.*}} = %[[FIRST]] : tensor<8x32xf32>)
// CHECK-NEXT:   hone.dot_general
// CHECK-NEXT:   hone.add
// CHECK-NOT: hone.fused
func.func @product_of_two_products(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %u: tensor<32x64xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %q = hone.dot_general %x, %u batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %q : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
