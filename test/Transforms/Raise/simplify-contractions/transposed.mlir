// RUN: hone-opt %s --hone-simplify-contractions | FileCheck %s

// CHECK-LABEL: func.func @operand
// CHECK: hone.dot_general %arg0, %arg1 batch [0, 1] x [0, 2] contract [3] x [1]
// CHECK-NOT: hone.transpose
func.func @operand(%g: tensor<4x24x64x32xf32>, %x: tensor<4x32x24x16xf32>) -> tensor<4x24x64x16xf32> {
  %0 = hone.transpose %g [0, 2, 3, 1] : tensor<4x24x64x32xf32> -> tensor<4x64x32x24xf32>
  %1 = hone.dot_general %0, %x batch [0, 3] x [0, 2] contract [2] x [1]
      : tensor<4x64x32x24xf32>, tensor<4x32x24x16xf32> -> tensor<4x24x64x16xf32>
  return %1 : tensor<4x24x64x16xf32>
}

// Its free dimensions would change places: the transpose would be one of the result instead.
// CHECK-LABEL: func.func @order
// CHECK: hone.transpose %arg0 [1, 0, 2]
func.func @order(%x: tensor<8x4x16xf32>, %w: tensor<16x4xf32>) -> tensor<4x8x4xf32> {
  %0 = hone.transpose %x [1, 0, 2] : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %1 = hone.dot_general %0, %w batch [] x [] contract [2] x [0]
      : tensor<4x8x16xf32>, tensor<16x4xf32> -> tensor<4x8x4xf32>
  return %1 : tensor<4x8x4xf32>
}

// CHECK-LABEL: func.func @result
// CHECK: hone.dot_general %arg1, %arg0 batch [0] x [0] contract [1] x [2] : tensor<4x16x32xf32>, tensor<4x8x16xf32> -> tensor<4x32x8xf32>
// CHECK-NOT: hone.transpose
func.func @result(%x: tensor<4x8x16xf32>, %y: tensor<4x16x32xf32>) -> tensor<4x32x8xf32> {
  %0 = hone.dot_general %x, %y batch [0] x [0] contract [2] x [1]
      : tensor<4x8x16xf32>, tensor<4x16x32xf32> -> tensor<4x8x32xf32>
  %1 = hone.transpose %0 [0, 2, 1] : tensor<4x8x32xf32> -> tensor<4x32x8xf32>
  return %1 : tensor<4x32x8xf32>
}

// Without batch dimensions the rows stay on the left.
// CHECK-LABEL: func.func @rows
// CHECK: hone.dot_general %arg0, %arg1
// CHECK: hone.transpose
func.func @rows(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<32x8xf32> {
  %0 = hone.dot_general %x, %w batch [] x [] contract [1] x [0]
      : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %1 = hone.transpose %0 [1, 0] : tensor<8x32xf32> -> tensor<32x8xf32>
  return %1 : tensor<32x8xf32>
}
