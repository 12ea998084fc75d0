// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// 2 / sqrt(pi) * exp(-x^2).

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<1.12837923> : tensor<4x8xf32>
// CHECK: %[[ERF:.+]] = hone.erf %[[X]]
// CHECK: %[[MUL:.+]] = hone.mul %[[X]], %[[X]]
// CHECK: %[[NEG:.+]] = hone.neg %[[MUL]]
// CHECK: %[[EXP:.+]] = hone.exp %[[NEG]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[EXP]], %[[CONSTANT]]
// CHECK: %[[MUL3:.+]] = hone.mul %[[C]], %[[MUL2]]
// CHECK: return %{{.+}}, %[[MUL3]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.erf %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
