// RUN: hone-opt %s --hone-sink-transposes --canonicalize | FileCheck %s
// RUN: hone-opt %s --hone-sink-transposes -o %t && hone-run --compare %s %t --entry statistics --args 2 --rtol 0
// RUN: hone-opt %s --hone-sink-transposes -o %t && hone-run --compare %s %t --entry shapes --args 2 --rtol 0

// Sums over batch and positions, per channel: the reduction runs over the dimensions where they now are.

// CHECK-LABEL: func.func @statistics(
// CHECK: %[[C:.+]] = hone.conv
// CHECK: hone.reduce sum %[[C]] dims [0, 1, 2] : tensor<2x6x6x4xf32> -> tensor<4xf32>
// CHECK: hone.reduce max %[[C]] dims [3] : tensor<2x6x6x4xf32> -> tensor<2x6x6xf32>
// CHECK-NOT: hone.transpose
func.func @statistics(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>) -> (tensor<4xf32>, tensor<2x6x6xf32>) {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %s = hone.reduce sum %t dims [0, 2, 3] : tensor<2x4x6x6xf32> -> tensor<4xf32>
  %m = hone.reduce max %t dims [1] : tensor<2x4x6x6xf32> -> tensor<2x6x6xf32>
  return %s, %m : tensor<4xf32>, tensor<2x6x6xf32>
}

// A batch norm is another function in training than in evaluation: the choice between both has channels last too.

// CHECK-LABEL: func.func @modes(
// CHECK: %[[C:.+]] = hone.conv
// CHECK: %[[N:.+]] = hone.neg %[[C]]
// CHECK: hone.select_mode training %[[N]] evaluation %[[C]] : tensor<2x6x6x4xf32>
// CHECK-NOT: hone.transpose
func.func @modes(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32> {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %n = hone.neg %t : tensor<2x4x6x6xf32>
  %s = hone.select_mode training %n evaluation %t : tensor<2x4x6x6xf32>
  %y = hone.transpose %s [0, 2, 3, 1] : tensor<2x4x6x6xf32> -> tensor<2x6x6x4xf32>
  return %y : tensor<2x6x6x4xf32>
}

// Pads, slices, concatenations, and positions that become a sequence.

// CHECK-LABEL: func.func @shapes(
// CHECK: %[[C:.+]] = hone.conv
// CHECK: %[[P:.+]] = hone.pad %[[C]] low [0, 1, 0, 0] high [0, 0, 2, 0] interior [0, 0, 0, 0]
// CHECK: %[[S:.+]] = hone.slice %[[P]] [0, 1, 0, 2] to [2, 7, 6, 4] by [1, 1, 1, 1]
// CHECK: %[[J:.+]] = hone.concat %[[C]], %[[S]] dim 3
// CHECK: hone.reshape %[[J]] : tensor<2x6x6x6xf32> -> tensor<2x36x6xf32>
// CHECK-NOT: hone.transpose
func.func @shapes(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>) -> tensor<2x36x6xf32> {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %p = hone.pad %t low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0]
      : tensor<2x4x6x6xf32> -> tensor<2x4x7x8xf32>
  %s = hone.slice %p [0, 2, 1, 0] to [2, 4, 7, 6] by [1, 1, 1, 1] : tensor<2x4x7x8xf32> -> tensor<2x2x6x6xf32>
  %j = hone.concat %t, %s dim 1 : (tensor<2x4x6x6xf32>, tensor<2x2x6x6xf32>) -> tensor<2x6x6x6xf32>
  %f = hone.reshape %j : tensor<2x6x6x6xf32> -> tensor<2x6x36xf32>
  %y = hone.transpose %f [0, 2, 1] : tensor<2x6x36xf32> -> tensor<2x36x6xf32>
  return %y : tensor<2x36x6xf32>
}
