// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// CHECK-LABEL: func.func @concat_of_arguments
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.concat
func.func @concat_of_arguments(%x: tensor<16x32xf32>, %y: tensor<16x32xf32>) -> tensor<16x64xf32> {
  %r = hone.concat %x, %y dim 1 : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}

// A part with another reader must be whole.
// CHECK-LABEL: func.func @part_read_twice
// CHECK: hone.fused attention
// CHECK: hone.fused data_movement
// CHECK-NEXT:   hone.concat
func.func @part_read_twice(%g: tensor<2x16x4x8xf32>, %q: tensor<2x16x4x8xf32>, %l: tensor<2x4x16xf32>)
    -> (tensor<2x16x4x24xf32>, tensor<2x16x4x8xf32>) {
  %a, %b, %c = hone.attention_bwd %g, %q, %q, %q, %q, %l causal scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
      tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
  %r = hone.concat %a, %b, %c dim 3
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> tensor<2x16x4x24xf32>
  return %r, %a : tensor<2x16x4x24xf32>, tensor<2x16x4x8xf32>
}
