// RUN: hone-opt %s --hone-sink-transposes | FileCheck %s
// RUN: hone-opt %s --hone-sink-transposes -o %t && hone-run --compare %s %t --entry residual --args 3 --rtol 0

// Two convolutions as PyTorch states them, channels second, with a bias, a ReLU and a residual addition in between: one
// transpose is left at each end.

// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x6x6xf32>, %[[W:[a-z0-9]+]]: tensor<3x3x4x4xf32>, %[[B:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[T:.+]] = hone.transpose %[[X]] [0, 2, 3, 1]
// CHECK-NEXT: %[[C:.+]] = hone.conv %[[T]], %[[W]]
// CHECK-NEXT: %[[V:.+]] = hone.broadcast %[[B]] dims [3] : tensor<4xf32> -> tensor<2x6x6x4xf32>
// CHECK-NEXT: %[[S:.+]] = hone.add %[[C]], %[[V]] : tensor<2x6x6x4xf32>
// CHECK-NEXT: %[[Z:.+]] = hone.constant dense<0.000000e+00> : tensor<2x6x6x4xf32>
// CHECK-NEXT: %[[R:.+]] = hone.max %[[S]], %[[Z]] : tensor<2x6x6x4xf32>
// CHECK-NEXT: %[[D:.+]] = hone.conv %[[R]], %[[W]]
// CHECK-NEXT: %[[A:.+]] = hone.add %[[D]], %[[R]] : tensor<2x6x6x4xf32>
// CHECK-NEXT: %[[Y:.+]] = hone.transpose %[[A]] [0, 3, 1, 2]
// CHECK-NEXT: return %[[Y]]
func.func @residual(%x: tensor<2x4x6x6xf32>, %w: tensor<3x3x4x4xf32>, %b: tensor<4xf32>) -> tensor<2x4x6x6xf32> {
  %t = hone.transpose %x [0, 2, 3, 1] : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  %c = hone.conv %t, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %ct = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %v = hone.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4x6x6xf32>
  %s = hone.add %ct, %v : tensor<2x4x6x6xf32>
  %zero = hone.constant dense<0.0> : tensor<2x4x6x6xf32>
  %r = hone.max %s, %zero : tensor<2x4x6x6xf32>
  %rt = hone.transpose %r [0, 2, 3, 1] : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  %d = hone.conv %rt, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %dt = hone.transpose %d [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %y = hone.add %dt, %r : tensor<2x4x6x6xf32>
  return %y : tensor<2x4x6x6xf32>
}
