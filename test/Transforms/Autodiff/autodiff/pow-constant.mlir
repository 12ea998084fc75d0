// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// A constant exponent other than 0 needs no guard.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<1.500000e+00> : tensor<4x8xf32>
// CHECK: %[[CONSTANT2:.+]] = hone.constant dense<2.500000e+00> : tensor<4x8xf32>
// CHECK: %[[POW:.+]] = hone.pow %[[X]], %[[CONSTANT2]]
// CHECK: %[[POW2:.+]] = hone.pow %[[X]], %[[CONSTANT]]
// CHECK: %[[MUL:.+]] = hone.mul %[[POW2]], %[[CONSTANT2]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[C]], %[[MUL]]
// CHECK: return %{{.+}}, %[[MUL2]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.constant dense<2.5> : tensor<4x8xf32>
  %y = hone.pow %x, %e : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
