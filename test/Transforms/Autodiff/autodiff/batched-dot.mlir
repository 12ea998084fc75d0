// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Batch dimensions stay in front; an operand that has them elsewhere gets a transpose.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}, %[[K:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[DOT_GENERAL:.+]] = hone.dot_general %[[Q]], %[[K]] batch [0, 1] x [0, 2] contract [3] x [3] : {{.*}}-> tensor<2x4x16x5xf32>
// CHECK: %[[DOT_GENERAL2:.+]] = hone.dot_general %[[C]], %[[K]] batch [0, 1] x [0, 2] contract [3] x [1] : {{.*}}-> tensor<2x4x16x8xf32>
// CHECK: %[[DOT_GENERAL3:.+]] = hone.dot_general %[[C]], %[[Q]] batch [0, 1] x [0, 1] contract [2] x [2] : {{.*}}-> tensor<2x4x5x8xf32>
// CHECK: %[[TRANSPOSE:.+]] = hone.transpose %[[DOT_GENERAL3]] [0, 2, 1, 3]
// CHECK: return %{{.+}}, %[[DOT_GENERAL2]], %[[TRANSPOSE]]

func.func @forward(%q: tensor<2x4x16x8xf32> {hone.kind = "param", hone.fqn = "q", hone.requires_grad},
    %k: tensor<2x5x4x8xf32> {hone.kind = "param", hone.fqn = "k", hone.requires_grad},
    %c: tensor<2x4x16x5xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dot_general %q, %k batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x4x16x8xf32>, tensor<2x5x4x8xf32> -> tensor<2x4x16x5xf32>
  %weighted = hone.mul %y, %c : tensor<2x4x16x5xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2, 3] : tensor<2x4x16x5xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
