// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent is placed where the box was; a stride becomes interior zeros.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[SLICE:.+]] = hone.slice %[[X]] [1, 0] to [3, 8] by [1, 3] : {{.*}}-> tensor<2x3xf32>
// CHECK: %[[PAD:.+]] = hone.pad %[[C]] low [1, 0] high [1, 2] interior [0, 2] : {{.*}}-> tensor<4x9xf32>
// CHECK: return %{{.+}}, %[[PAD]]

func.func @forward(%x: tensor<4x9xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<2x3xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.slice %x [1, 0] to [3, 8] by [1, 3] : tensor<4x9xf32> -> tensor<2x3xf32>
  %weighted = hone.mul %y, %c : tensor<2x3xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
