// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The inverse permutation.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[TRANSPOSE:.+]] = hone.transpose %[[X]] [2, 0, 1]
// CHECK: %[[TRANSPOSE2:.+]] = hone.transpose %[[C]] [1, 2, 0]
// CHECK: return %{{.+}}, %[[TRANSPOSE2]]

func.func @forward(%x: tensor<2x3x4xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x2x3xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %weighted = hone.mul %y, %c : tensor<4x2x3xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2] : tensor<4x2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
