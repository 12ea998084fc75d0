// RUN: hone-opt %s --hone-raise | FileCheck %s

// Windows that overlap, read padding or leave gaps, and channels in groups, are no product of rows.

// CHECK-LABEL: func.func @forward(
// CHECK-COUNT-4: hone.conv %
// CHECK: hone.conv_bwd_input
// CHECK-NOT: hone.dot_general
func.func @forward(%x: tensor<2x8x4xf32>, %w: tensor<2x4x4xf32>, %g: tensor<2x2x4xf32>)
    -> (tensor<2x7x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>) {
  %a = hone.conv %x, %w strides [1] low [0] high [0] dilations [1]
      : tensor<2x8x4xf32>, tensor<2x4x4xf32> -> tensor<2x7x4xf32>
  %b = hone.conv %x, %w strides [2] low [1] high [1] dilations [1]
      : tensor<2x8x4xf32>, tensor<2x4x4xf32> -> tensor<2x5x4xf32>
  %c = hone.conv %x, %w strides [3] low [0] high [0] dilations [1]
      : tensor<2x8x4xf32>, tensor<2x4x4xf32> -> tensor<2x3x4xf32>
  %d = hone.conv %x, %g strides [2] low [0] high [0] dilations [1]
      : tensor<2x8x4xf32>, tensor<2x2x4xf32> -> tensor<2x4x4xf32>
  %e = hone.conv_bwd_input %a, %w strides [1] low [0] high [0] dilations [1]
      : tensor<2x7x4xf32>, tensor<2x4x4xf32> -> tensor<2x8x4xf32>
  return %a, %b, %c, %d, %e
      : tensor<2x7x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>
}
