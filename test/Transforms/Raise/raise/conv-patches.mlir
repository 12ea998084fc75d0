// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 2 --rtol 1e-12

// A patch embedding as PyTorch states it: image and weight have their channels first; the weight is read as it lies.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x8x12xf32>, %[[W:[a-z0-9]+]]: tensor<16x3x4x4xf32>
// CHECK: %[[M:.+]] = hone.reshape %[[W]] : tensor<16x3x4x4xf32> -> tensor<16x48xf32>
// CHECK: %[[S:.+]] = hone.reshape %[[X]] : tensor<2x3x8x12xf32> -> tensor<2x3x2x4x3x4xf32>
// CHECK: %[[T:.+]] = hone.transpose %[[S]] [0, 2, 4, 1, 3, 5]
// CHECK: %[[R:.+]] = hone.reshape %[[T]] : tensor<2x2x3x3x4x4xf32> -> tensor<2x2x3x48xf32>
// CHECK: hone.dot_general %[[R]], %[[M]] batch [] x [] contract [3] x [1]
func.func @forward(%x: tensor<2x3x8x12xf32>, %w: tensor<16x3x4x4xf32>) -> tensor<2x2x3x16xf32> {
  %xt = hone.transpose %x [0, 2, 3, 1] : tensor<2x3x8x12xf32> -> tensor<2x8x12x3xf32>
  %wt = hone.transpose %w [2, 3, 1, 0] : tensor<16x3x4x4xf32> -> tensor<4x4x3x16xf32>
  %y = hone.conv %xt, %wt strides [4, 4] low [0, 0] high [0, 0] dilations [1, 1]
      : tensor<2x8x12x3xf32>, tensor<4x4x3x16xf32> -> tensor<2x2x3x16xf32>
  return %y : tensor<2x2x3x16xf32>
}
