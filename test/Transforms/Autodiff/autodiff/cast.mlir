// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// Between float types the cotangent is converted back.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[CAST:.+]] = hone.cast %[[X]] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[CAST2:.+]] = hone.cast %[[C]] : {{.*}}-> tensor<4x8xbf16>
// CHECK: return %{{.+}}, %[[CAST2]]

func.func @forward(%x: tensor<4x8xbf16> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.cast %x : tensor<4x8xbf16> -> tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
