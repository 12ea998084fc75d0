// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// The cotangent of what was padded is cut out.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}, %[[C:[a-z0-9]+]]: tensor
// CHECK: %[[PAD:.+]] = hone.pad %[[X]] low [1, 0] high [1, 1] interior [0, 2] : {{.*}}-> tensor<4x8xf32>
// CHECK: %[[SLICE:.+]] = hone.slice %[[C]] [1, 0] to [3, 7] by [1, 3] : {{.*}}-> tensor<2x3xf32>
// CHECK: return %{{.+}}, %[[SLICE]]

func.func @forward(%x: tensor<2x3xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %c: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "c"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.pad %x low [1, 0] high [1, 1] interior [0, 2] : tensor<2x3xf32> -> tensor<4x8xf32>
  %weighted = hone.mul %y, %c : tensor<4x8xf32>
  %loss = hone.reduce sum %weighted dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
