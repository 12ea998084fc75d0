// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent repeats along the summed dimension.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[REDUCE:.+]] = hone.reduce sum %[[X]] dims [1] : {{.*}}-> tensor<4xf32>
// CHECK: %[[BROADCAST:.+]] = hone.broadcast %[[C]] dims [0] : {{.*}}-> tensor<4x8xf32>
// CHECK: return %{{.+}}, %[[BROADCAST]]

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.reduce sum %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %weighted = hone.mul %y, %c : tensor<4xf32>
  %loss = hone.reduce sum %weighted dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
