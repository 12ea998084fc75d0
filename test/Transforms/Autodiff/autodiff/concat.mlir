// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Each operand gets its slice of the cotangent.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONCAT:.+]] = hone.concat %[[X]], %[[Z]] dim 1
// CHECK: %[[SLICE:.+]] = hone.slice %[[C]] [0, 0] to [4, 3] by [1, 1] : {{.*}}-> tensor<4x3xf32>
// CHECK: %[[SLICE2:.+]] = hone.slice %[[C]] [0, 3] to [4, 8] by [1, 1] : {{.*}}-> tensor<4x5xf32>
// CHECK: return %{{.+}}, %[[SLICE]], %[[SLICE2]]

func.func @forward(%x: tensor<4x3xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x5xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.concat %x, %z dim 1 : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
