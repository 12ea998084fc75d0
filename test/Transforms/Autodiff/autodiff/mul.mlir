// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Each operand gets the cotangent times the other.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[MUL:.+]] = hone.mul %[[X]], %[[Z]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[C]], %[[Z]]
// CHECK: %[[MUL3:.+]] = hone.mul %[[C]], %[[X]]
// CHECK: return %{{.+}}, %[[MUL2]], %[[MUL3]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %x, %z : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
