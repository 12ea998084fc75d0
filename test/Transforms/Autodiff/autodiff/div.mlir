// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// g / z, and -g * (y / z) from the quotient.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[DIV:.+]] = hone.div %[[X]], %[[Z]]
// CHECK: %[[DIV2:.+]] = hone.div %[[C]], %[[Z]]
// CHECK: %[[DIV3:.+]] = hone.div %[[DIV]], %[[Z]]
// CHECK: %[[MUL:.+]] = hone.mul %[[C]], %[[DIV3]]
// CHECK: %[[NEG:.+]] = hone.neg %[[MUL]]
// CHECK: return %{{.+}}, %[[DIV2]], %[[NEG]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.div %x, %z : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
