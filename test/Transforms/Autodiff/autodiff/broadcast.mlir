// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Cotangents add up along the dimensions that repeat.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[BROADCAST:.+]] = hone.broadcast %[[X]] dims [1] : {{.*}}-> tensor<4x8x3xf32>
// CHECK: %[[REDUCE:.+]] = hone.reduce sum %[[C]] dims [0, 2] : {{.*}}-> tensor<8xf32>
// CHECK: return %{{.+}}, %[[REDUCE]]

func.func @forward(%x: tensor<8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8x3xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.broadcast %x dims [1] : tensor<8xf32> -> tensor<4x8x3xf32>
  %weighted = hone.mul %y, %c : tensor<4x8x3xf32>
  %loss = hone.reduce sum %weighted dims [0, 1, 2] : tensor<4x8x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
