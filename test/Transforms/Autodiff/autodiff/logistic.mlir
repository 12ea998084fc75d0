// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// y (1 - y) from the result.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<1.000000e+00> : tensor<4x8xf32>
// CHECK: %[[LOGISTIC:.+]] = hone.logistic %[[X]]
// CHECK: %[[SUB:.+]] = hone.sub %[[CONSTANT]], %[[LOGISTIC]]
// CHECK: %[[MUL:.+]] = hone.mul %[[C]], %[[SUB]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[MUL]], %[[LOGISTIC]]
// CHECK: return %{{.+}}, %[[MUL2]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.logistic %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
