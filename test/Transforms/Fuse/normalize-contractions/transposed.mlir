// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-normalize-contractions))' | FileCheck %s

// Batch dimensions 0 and 2 have rows between them: no one stride walks both.
// CHECK-LABEL: func.func @batch_around_rows
// CHECK: %[[X:.*]] = hone.transpose %arg0 [0, 2, 1, 3]
// CHECK: hone.dot_general %[[X]], %arg1 batch [0, 1] x [0, 1] contract [3] x [3]
func.func @batch_around_rows(%x: tensor<2x16x4x8xf32>, %y: tensor<2x4x16x8xf32>) -> tensor<2x4x16x16xf32> {
  %p = hone.dot_general %x, %y batch [0, 2] x [0, 1] contract [3] x [3]
      : tensor<2x16x4x8xf32>, tensor<2x4x16x8xf32> -> tensor<2x4x16x16xf32>
  return %p : tensor<2x4x16x16xf32>
}

// The pairs are in the order of the left operand.
// CHECK-LABEL: func.func @contracted_dims_exchanged
// CHECK: %[[Y:.*]] = hone.transpose %arg1 [2, 1, 0]
// CHECK: hone.dot_general %arg0, %[[Y]] batch [] x [] contract [1, 2] x [1, 2]
func.func @contracted_dims_exchanged(%x: tensor<8x4x16xf32>, %y: tensor<16x4x32xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %y batch [] x [] contract [1, 2] x [1, 0]
      : tensor<8x4x16xf32>, tensor<16x4x32xf32> -> tensor<8x32xf32>
  return %p : tensor<8x32xf32>
}

// Libraries ask for rows or columns without gaps: here, the batch is innermost.
// CHECK-LABEL: func.func @no_unit_stride
// CHECK: %[[X:.*]] = hone.transpose %arg0 [2, 0, 1]
// CHECK: hone.dot_general %[[X]], %arg1 batch [0] x [0] contract [2] x [1]
func.func @no_unit_stride(%x: tensor<16x8x4xf32>, %y: tensor<4x8x32xf32>) -> tensor<4x16x32xf32> {
  %p = hone.dot_general %x, %y batch [2] x [0] contract [1] x [1]
      : tensor<16x8x4xf32>, tensor<4x8x32xf32> -> tensor<4x16x32xf32>
  return %p : tensor<4x16x32xf32>
}

// CHECK-LABEL: func.func @both
// CHECK: %[[X:.*]] = hone.transpose %arg0 [0, 2, 1, 3]
// CHECK: %[[Y:.*]] = hone.transpose %arg1 [0, 2, 1, 3]
// CHECK: hone.dot_general %[[X]], %[[Y]] batch [0, 1] x [0, 1] contract [3] x [3]
func.func @both(%x: tensor<2x16x4x8xf32>, %y: tensor<2x16x4x8xf32>) -> tensor<2x4x16x16xf32> {
  %p = hone.dot_general %x, %y batch [0, 2] x [0, 2] contract [3] x [3]
      : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32> -> tensor<2x4x16x16xf32>
  return %p : tensor<2x4x16x16xf32>
}

// The result keeps its type, which may differ from the operands'.
// CHECK-LABEL: func.func @wide_result
// CHECK: hone.dot_general %{{.*}} : tensor<4x16x8xbf16>, tensor<4x8x32xbf16> -> tensor<4x16x32xf32>
func.func @wide_result(%x: tensor<16x8x4xbf16>, %y: tensor<4x8x32xbf16>) -> tensor<4x16x32xf32> {
  %p = hone.dot_general %x, %y batch [2] x [0] contract [1] x [1]
      : tensor<16x8x4xbf16>, tensor<4x8x32xbf16> -> tensor<4x16x32xf32>
  return %p : tensor<4x16x32xf32>
}
