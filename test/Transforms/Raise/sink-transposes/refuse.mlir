// RUN: hone-opt %s --hone-sink-transposes | FileCheck %s

// A transpose that no convolution or pooling makes: heads of attention.
// CHECK-LABEL: func.func @heads(
// CHECK: hone.transpose %{{.*}} [0, 2, 1, 3]
// CHECK-NEXT: hone.exp
func.func @heads(%x: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
  %t = hone.transpose %x [0, 2, 1, 3] : tensor<2x6x4x8xf32> -> tensor<2x4x6x8xf32>
  %e = hone.exp %t : tensor<2x4x6x8xf32>
  %y = hone.transpose %e [0, 2, 1, 3] : tensor<2x4x6x8xf32> -> tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}

// Groups of channels and positions side by side, as a group norm reads them: positions lie between them.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[C:.+]] = hone.conv
// CHECK: %[[T:.+]] = hone.transpose %[[C]] [0, 3, 1, 2]
// CHECK-NEXT: hone.reshape %[[T]]
func.func @groups(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>) -> tensor<2x2x72xf32> {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %y = hone.reshape %t : tensor<2x4x6x6xf32> -> tensor<2x2x72xf32>
  return %y : tensor<2x2x72xf32>
}

// Another whole tensor beside it: nothing is won.
// CHECK-LABEL: func.func @addend(
// CHECK: %[[T:.+]] = hone.transpose
// CHECK-NEXT: hone.add %[[T]], %{{.*}} : tensor<2x4x6x6xf32>
func.func @addend(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>, %a: tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32> {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %y = hone.add %t, %a : tensor<2x4x6x6xf32>
  return %y : tensor<2x4x6x6xf32>
}

// A transposed value that several ops read, none of them further on: one transpose stays one.
// CHECK-LABEL: func.func @several(
// CHECK: %[[T:.+]] = hone.transpose
// CHECK-NOT: hone.transpose
// CHECK: return
func.func @several(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x4xf32>)
    -> (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) {
  %c = hone.conv %x, %w strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1]
      : tensor<2x6x6x4xf32>, tensor<3x3x4x4xf32> -> tensor<2x6x6x4xf32>
  %t = hone.transpose %c [0, 3, 1, 2] : tensor<2x6x6x4xf32> -> tensor<2x4x6x6xf32>
  %a = hone.exp %t : tensor<2x4x6x6xf32>
  %b = hone.neg %t : tensor<2x4x6x6xf32>
  return %t, %a, %b : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>
}
