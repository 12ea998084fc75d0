// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Both derivatives, with 0 where y x^(y-1) or x^y ln x would read 0 * inf.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[Z:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<0.000000e+00> : tensor<4x8xf32>
// CHECK: %[[CONSTANT2:.+]] = hone.constant dense<1.000000e+00> : tensor<4x8xf32>
// CHECK: %[[POW:.+]] = hone.pow %[[X]], %[[Z]]
// CHECK: %[[SUB:.+]] = hone.sub %[[Z]], %[[CONSTANT2]]
// CHECK: %[[POW2:.+]] = hone.pow %[[X]], %[[SUB]]
// CHECK: %[[MUL:.+]] = hone.mul %[[Z]], %[[POW2]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[C]], %[[MUL]]
// CHECK: %[[CMP:.+]] = hone.cmp eq, %[[Z]], %[[CONSTANT]]
// CHECK: %[[SELECT:.+]] = hone.select %[[CMP]], %[[CONSTANT]], %[[MUL2]]
// CHECK: %[[LOG:.+]] = hone.log %[[X]]
// CHECK: %[[MUL3:.+]] = hone.mul %[[POW]], %[[LOG]]
// CHECK: %[[MUL4:.+]] = hone.mul %[[C]], %[[MUL3]]
// CHECK: %[[CMP2:.+]] = hone.cmp ge, %[[Z]], %[[CONSTANT]]
// CHECK: %[[SELECT2:.+]] = hone.select %[[CMP2]], %[[CONSTANT]], %[[MUL4]]
// CHECK: %[[CMP3:.+]] = hone.cmp eq, %[[X]], %[[CONSTANT]]
// CHECK: %[[SELECT3:.+]] = hone.select %[[CMP3]], %[[SELECT2]], %[[MUL4]]
// CHECK: return %{{.+}}, %[[SELECT]], %[[SELECT3]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %z: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "z", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.pow %x, %z : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
