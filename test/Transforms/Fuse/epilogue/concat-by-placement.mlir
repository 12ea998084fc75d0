// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-join-pads,hone-fuse-groups,hone-verify-groups))' \
// RUN:   | FileCheck %s

// Behaviour 32: gradients of the parts of a packed projection are written where the one matrix holds them, which both
// contractions of the backward pass read whole.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @parts
// CHECK: %[[A:.*]]:3 = hone.fused attention
// CHECK: %[[Q:.*]] = hone.reshape %[[A]]#0
// CHECK: %[[K:.*]] = hone.reshape %[[A]]#1
// CHECK: %[[V:.*]] = hone.reshape %[[A]]#2
// CHECK-NOT: hone.fused data_movement
// CHECK: %[[D:.*]] = hone.concat %[[Q]], %[[K]], %[[V]] dim 2
// CHECK: hone.fused contraction ({{.*}} = %[[D]] :
// CHECK-NOT: hone.fused
func.func @parts(%do: tensor<2x16x4x6xf32>, %q: tensor<2x16x4x6xf32>, %k: tensor<2x16x2x6xf32>,
    %v: tensor<2x16x2x6xf32>, %o: tensor<2x16x4x6xf32>, %lse: tensor<2x4x16xf32>, %w: tensor<48x24xf32>)
    -> tensor<2x16x24xf32> {
  %dq, %dk, %dv = hone.attention_bwd %do, %q, %k, %v, %o, %lse causal scale 0.4
      : (tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x4x6xf32>,
         tensor<2x4x16xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x16x2x6xf32>, tensor<2x16x2x6xf32>)
  %q1 = hone.reshape %dq : tensor<2x16x4x6xf32> -> tensor<2x16x24xf32>
  %k1 = hone.reshape %dk : tensor<2x16x2x6xf32> -> tensor<2x16x12xf32>
  %v1 = hone.reshape %dv : tensor<2x16x2x6xf32> -> tensor<2x16x12xf32>
  %q2 = hone.pad %q1 low [0, 0, 0] high [0, 0, 24] interior [0, 0, 0] : tensor<2x16x24xf32> -> tensor<2x16x48xf32>
  %k2 = hone.pad %k1 low [0, 0, 24] high [0, 0, 12] interior [0, 0, 0] : tensor<2x16x12xf32> -> tensor<2x16x48xf32>
  %v2 = hone.pad %v1 low [0, 0, 36] high [0, 0, 0] interior [0, 0, 0] : tensor<2x16x12xf32> -> tensor<2x16x48xf32>
  %s = hone.add %q2, %k2 : tensor<2x16x48xf32>
  %d = hone.add %s, %v2 : tensor<2x16x48xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [2] x [0]
      : tensor<2x16x48xf32>, tensor<48x24xf32> -> tensor<2x16x24xf32>
  return %dx : tensor<2x16x24xf32>
}
}
