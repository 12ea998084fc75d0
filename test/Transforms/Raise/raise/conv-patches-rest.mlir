// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 3 --rtol 1e-12

// Windows that leave the end of the input out; then windows of one position, of which every second counts.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x9x3xf32>, %[[W:[a-z0-9]+]]: tensor<2x3x8xf32>, %[[V:[a-z0-9]+]]: tensor<1x8x5xf32>
// CHECK: %[[S:.+]] = hone.slice %[[X]] [0, 0, 0] to [2, 8, 3]
// CHECK: %[[R:.+]] = hone.reshape %[[S]] : tensor<2x8x3xf32> -> tensor<2x4x6xf32>
// CHECK: %[[Y:.+]] = hone.dot_general %[[R]], %{{.*}} contract [2] x [0]
// CHECK: %[[H:.+]] = hone.slice %[[Y]] [0, 0, 0] to [2, 3, 8] by [1, 2, 1]
// CHECK: hone.dot_general %[[H]]
// CHECK-NOT: hone.conv
func.func @forward(%x: tensor<2x9x3xf32>, %w: tensor<2x3x8xf32>, %v: tensor<1x8x5xf32>) -> tensor<2x2x5xf32> {
  %y = hone.conv %x, %w strides [2] low [0] high [0] dilations [1]
      : tensor<2x9x3xf32>, tensor<2x3x8xf32> -> tensor<2x4x8xf32>
  %z = hone.conv %y, %v strides [2] low [0] high [0] dilations [1]
      : tensor<2x4x8xf32>, tensor<1x8x5xf32> -> tensor<2x2x5xf32>
  return %z : tensor<2x2x5xf32>
}
