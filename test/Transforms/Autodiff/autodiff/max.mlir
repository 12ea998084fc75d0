// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The larger operand gets the cotangent; equal ones half of it each.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<5.000000e-01> : tensor<4x8xf32>
// CHECK: %[[CONSTANT2:.+]] = hone.constant dense<0.000000e+00> : tensor<4x8xf32>
// CHECK: %[[MAX:.+]] = hone.max %[[X]], %[[Z]]
// CHECK: %[[CMP:.+]] = hone.cmp eq, %[[X]], %[[Z]]
// CHECK: %[[MUL:.+]] = hone.mul %[[C]], %[[CONSTANT]]
// CHECK: %[[SELECT:.+]] = hone.select %[[CMP]], %[[MUL]], %[[C]]
// CHECK: %[[CMP2:.+]] = hone.cmp lt, %[[X]], %[[Z]]
// CHECK: %[[SELECT2:.+]] = hone.select %[[CMP2]], %[[CONSTANT2]], %[[SELECT]]
// CHECK: %[[CMP3:.+]] = hone.cmp lt, %[[Z]], %[[X]]
// CHECK: %[[SELECT3:.+]] = hone.select %[[CMP3]], %[[CONSTANT2]], %[[SELECT]]
// CHECK: return %{{.+}}, %[[SELECT2]], %[[SELECT3]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.max %x, %z : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
