// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent goes where the element came from.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[P:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<0.000000e+00> : tensor<4x8xf32>
// CHECK: %[[SELECT:.+]] = hone.select %[[P]], %[[X]], %[[Z]]
// CHECK: %[[SELECT2:.+]] = hone.select %[[P]], %[[C]], %[[CONSTANT]]
// CHECK: %[[SELECT3:.+]] = hone.select %[[P]], %[[CONSTANT]], %[[C]]
// CHECK: return %{{.+}}, %[[SELECT2]], %[[SELECT3]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %p: tensor<4x8xi1> {hone.kind = "input", hone.fqn = "p"},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.select %p, %x, %z : tensor<4x8xi1>, tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
