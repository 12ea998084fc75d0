// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 2 --rtol 1e-12

// A transposed convolution whose windows do not meet; PyTorch's weight [C, O, K, K] is that of the convolution whose
// gradient it is. One column is in no window.

// CHECK-LABEL: func.func @forward(
// CHECK: %[[D:.+]] = hone.dot_general %{{.*}} contract [3] x [0]
// CHECK: %[[S:.+]] = hone.reshape %[[D]] : tensor<2x3x4x20xf32> -> tensor<2x3x4x5x2x2xf32>
// CHECK: %[[T:.+]] = hone.transpose %[[S]] [0, 1, 4, 2, 5, 3]
// CHECK: %[[J:.+]] = hone.reshape %[[T]] : tensor<2x3x2x4x2x5xf32> -> tensor<2x6x8x5xf32>
// CHECK: hone.pad %[[J]] low [0, 0, 0, 0] high [0, 0, 1, 0]
// CHECK-NOT: hone.conv
func.func @forward(%x: tensor<2x3x4x6xf32>, %w: tensor<6x5x2x2xf32>) -> tensor<2x6x9x5xf32> {
  %wt = hone.transpose %w [2, 3, 1, 0] : tensor<6x5x2x2xf32> -> tensor<2x2x5x6xf32>
  %y = hone.conv_bwd_input %x, %wt strides [2, 2] low [0, 0] high [0, 0] dilations [1, 1]
      : tensor<2x3x4x6xf32>, tensor<2x2x5x6xf32> -> tensor<2x6x9x5xf32>
  return %y : tensor<2x6x9x5xf32>
}
