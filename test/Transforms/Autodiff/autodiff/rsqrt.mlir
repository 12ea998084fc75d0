// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// -1/2 y^3 times the cotangent, from the result.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CONSTANT:.+]] = hone.constant dense<-5.000000e-01> : tensor<4x8xf32>
// CHECK: %[[RSQRT:.+]] = hone.rsqrt %[[X]]
// CHECK: %[[MUL:.+]] = hone.mul %[[C]], %[[CONSTANT]]
// CHECK: %[[MUL2:.+]] = hone.mul %[[RSQRT]], %[[RSQRT]]
// CHECK: %[[MUL3:.+]] = hone.mul %[[RSQRT]], %[[MUL2]]
// CHECK: %[[MUL4:.+]] = hone.mul %[[MUL]], %[[MUL3]]
// CHECK: return %{{.+}}, %[[MUL4]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.rsqrt %x : tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
