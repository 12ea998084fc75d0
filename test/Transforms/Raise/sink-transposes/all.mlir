// RUN: hone-opt %s --hone-sink-transposes=all | FileCheck %s
// RUN: hone-opt %s --hone-sink-transposes | FileCheck %s --check-prefix=STAYS

// STAYS-LABEL: func.func @two
// STAYS-COUNT-2: hone.transpose

// Of two transposes one is left, and the product reads its operand as it is.
// CHECK-LABEL: func.func @two
// CHECK: %[[L:.*]] = hone.transpose %arg1 [0, 2, 1, 3, 4]
// CHECK: %[[M:.*]] = hone.mul %arg0, %[[L]]
// CHECK: hone.dot_general %[[M]], %arg2 batch [0, 1, 2] x [0, 1, 3] contract [4] x [2]
// CHECK-NOT: hone.transpose
func.func @two(%g: tensor<1x4x24x64x64xf32>, %l: tensor<1x24x4x64x64xf32>, %x: tensor<1x4x64x24x64xf32>)
    -> tensor<1x4x24x64x64xf32> {
  %0 = hone.transpose %g [0, 1, 3, 4, 2] : tensor<1x4x24x64x64xf32> -> tensor<1x4x64x64x24xf32>
  %1 = hone.transpose %l [0, 2, 3, 4, 1] : tensor<1x24x4x64x64xf32> -> tensor<1x4x64x64x24xf32>
  %2 = hone.mul %0, %1 : tensor<1x4x64x64x24xf32>
  %3 = hone.dot_general %2, %x batch [0, 1, 4] x [0, 1, 3] contract [3] x [2]
      : tensor<1x4x64x64x24xf32>, tensor<1x4x64x24x64xf32> -> tensor<1x4x24x64x64xf32>
  return %3 : tensor<1x4x24x64x64xf32>
}

// The bias of a convolution is added before its channels go second: its transpose sinks without `all` too.
// STAYS-LABEL: func.func @bias
// STAYS-NOT: hone.transpose
func.func @bias(%x: tensor<1x8x4xf32>, %w: tensor<3x1x4xf32>, %b: tensor<4xf32>) -> tensor<1x8x4xf32> {
  %0 = hone.conv depthwise %x, %w strides [1] low [1] high [1] dilations [1]
      : tensor<1x8x4xf32>, tensor<3x1x4xf32> -> tensor<1x8x4xf32>
  %1 = hone.broadcast %b dims [2] : tensor<4xf32> -> tensor<1x8x4xf32>
  %2 = hone.add %0, %1 : tensor<1x8x4xf32>
  %3 = hone.transpose %2 [0, 2, 1] : tensor<1x8x4xf32> -> tensor<1x4x8xf32>
  %4 = hone.logistic %3 : tensor<1x4x8xf32>
  %5 = hone.transpose %4 [0, 2, 1] : tensor<1x4x8xf32> -> tensor<1x8x4xf32>
  return %5 : tensor<1x8x4xf32>
}
