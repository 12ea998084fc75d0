// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent takes the shape of the operand.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[RESHAPE:.+]] = hone.reshape %[[X]] : {{.*}}-> tensor<32xf32>
// CHECK: %[[RESHAPE2:.+]] = hone.reshape %[[C]] : {{.*}}-> tensor<4x8xf32>
// CHECK: return %{{.+}}, %[[RESHAPE2]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<32xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %weighted = hone.mul %y, %c : tensor<32xf32>
  %loss = hone.reduce sum %weighted dims [0] : tensor<32xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
