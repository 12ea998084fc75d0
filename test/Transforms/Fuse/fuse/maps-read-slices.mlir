// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A gated activation reads both halves of a packed projection where they lie, and writes their gradients into one matrix.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: hone.fused data_movement
// CHECK: %[[G:.*]] = hone.slice %arg0 [0, 0]
// CHECK: %[[U:.*]] = hone.slice %arg0 [0, 32]
// CHECK: %[[D:.*]]:2 = hone.fused map ({{.*}} = %[[U]] : {{.*}} = %[[G]] :
// CHECK: %[[C:.*]] = hone.concat %[[D]]#0, %[[D]]#1 dim 1
// CHECK-NOT: hone.fused data_movement
// CHECK: return %[[C]]
func.func @halves(%p: tensor<16x64xf32>, %ds: tensor<16x32xf32>) -> tensor<16x64xf32> {
  %g = hone.slice %p [0, 0] to [16, 32] by [1, 1] : tensor<16x64xf32> -> tensor<16x32xf32>
  %u = hone.slice %p [0, 32] to [16, 64] by [1, 1] : tensor<16x64xf32> -> tensor<16x32xf32>
  %dg = hone.mul %ds, %u : tensor<16x32xf32>
  %du = hone.mul %ds, %g : tensor<16x32xf32>
  %d = hone.concat %dg, %du dim 1 : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// Rotations too, behind the reshape that splits the heads.
// CHECK-LABEL: func.func @rotated_part
// CHECK-NOT: hone.fused data_movement
// CHECK: hone.slice
// CHECK: hone.reshape
// CHECK: hone.fused rope
// CHECK-NEXT:   hone.rope
func.func @rotated_part(%p: tensor<2x16x72xf32>, %c: tensor<16x3xf32>) -> tensor<2x16x4x6xf32> {
  %q = hone.slice %p [0, 0, 0] to [2, 16, 24] by [1, 1, 1] : tensor<2x16x72xf32> -> tensor<2x16x24xf32>
  %h = hone.reshape %q : tensor<2x16x24xf32> -> tensor<2x16x4x6xf32>
  %r = hone.rope half %h, %c, %c : tensor<2x16x4x6xf32>, tensor<16x3xf32>
  return %r : tensor<2x16x4x6xf32>
}
