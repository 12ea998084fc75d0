// The backward pass makes its scores again: those of the forward pass are not kept for it. What both read is shared. No
// kernel of the forward pass makes weights for the backward pass either, though they depend on nothing later.
// RUN: hone-opt %s --hone-decompose-attention --canonicalize --cse | FileCheck %s
// RUN: hone-opt %s --hone-decompose-attention --canonicalize --cse --hone-fuse-groups --hone-verify-groups \
// RUN:   | FileCheck %s --check-prefix=KERNELS

// CHECK-LABEL: @forward_and_backward
// CHECK-COUNT-3: hone.transpose {{.+}} [0, 2, 1, 3]
// CHECK: %[[FIRST:.+]] = hone.dot_general %[[Q:.+]], %[[K:.+]] batch [0, 1] x [0, 1] contract [3] x [3] : {{.+}} -> tensor<2x4x16x16xf32>
// CHECK: hone.dot_general %[[Q]], %[[K]] batch [0, 1] x [0, 1] contract [3] x [3] {hone.clone = 0 : i64} : {{.+}} -> tensor<2x4x16x16xf32>
// CHECK-NOT: %[[FIRST]]{{[ ,]}}

// KERNELS: %[[S:.+]] = hone.fused contraction {{.+}} -> tensor<2x4x16x16xf32> {
// KERNELS: hone.fused row ({{.+}} = %[[S]] : tensor<2x4x16x16xf32>) -> (tensor<2x4x16x16xf32>, tensor<2x4x16xf32>) {
// KERNELS: %[[AGAIN:.+]] = hone.fused contraction {{.+}} -> tensor<2x4x16x16xf32> {
// KERNELS: hone.clone = 0
// KERNELS: hone.fused map ({{.+}} = %[[AGAIN]] : {{.+}}) -> tensor<2x4x16x16xf32> {
// KERNELS: %[[DP:.+]] = hone.fused contraction {{.+}} -> tensor<2x4x16x16xf32> {
// KERNELS: hone.fused map ({{.*}} = %[[AGAIN]] : {{.+}}) -> tensor<2x4x16x16xf32> {
func.func @forward_and_backward(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x4x8xf32>, %v: tensor<2x16x4x8xf32>,
                                %g: tensor<2x16x4x8xf32>)
    -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) {
  %o, %l = hone.attention %q, %k, %v scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  %d = hone.mul %o, %g : tensor<2x16x4x8xf32>
  %dq, %dk, %dv = hone.attention_bwd %d, %q, %k, %v, %o, %l scale 1.0
      : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
         tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
      -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
  return %o, %dq, %dk, %dv
      : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>
}
