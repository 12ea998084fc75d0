// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The second operand gets the negated cotangent.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[SUB:.+]] = hone.sub %[[X]], %[[Z]]
// CHECK: %[[NEG:.+]] = hone.neg %[[C]]
// CHECK: return %{{.+}}, %[[C]], %[[NEG]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.sub %x, %z : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
