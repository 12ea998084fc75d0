// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Attention writes its gradients where the concatenation has them.
// CHECK-LABEL: func.func @gradient_concat
// CHECK: hone.fused attention
// CHECK: hone.reshape
// CHECK: hone.reshape
// CHECK: hone.reshape
// CHECK-NOT: hone.fused
// CHECK: hone.concat
func.func @gradient_concat(%g: tensor<2x16x4x8xf32>, %q: tensor<2x16x4x8xf32>, %k: tensor<2x16x4x8xf32>,
    %v: tensor<2x16x4x8xf32>,
                           %o: tensor<2x16x4x8xf32>, %l: tensor<2x4x16xf32>) -> tensor<2x16x96xf32> {
  %a, %b, %c = hone.attention_bwd %g, %q, %k, %v, %o, %l causal scale 0.35
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
      tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
  %x = hone.reshape %a : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %y = hone.reshape %b : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %z = hone.reshape %c : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %r = hone.concat %x, %y, %z dim 2
      : (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<2x16x96xf32>
  return %r : tensor<2x16x96xf32>
}
