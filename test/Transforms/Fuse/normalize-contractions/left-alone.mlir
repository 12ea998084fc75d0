// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-normalize-contractions))' | FileCheck %s

// CHECK-LABEL: func.func @linear
// CHECK-NOT: hone.transpose
// CHECK: hone.dot_general %arg0, %arg1
func.func @linear(%x: tensor<2x16x64xf32>, %y: tensor<32x64xf32>) -> tensor<2x16x32xf32> {
  %p = hone.dot_general %x, %y batch [] x [] contract [2] x [1]
      : tensor<2x16x64xf32>, tensor<32x64xf32> -> tensor<2x16x32xf32>
  return %p : tensor<2x16x32xf32>
}

// Batch and time are contracted, neighbours in both operands.
// CHECK-LABEL: func.func @weight_gradient
// CHECK-NOT: hone.transpose
// CHECK: hone.dot_general %arg0, %arg1
func.func @weight_gradient(%x: tensor<2x16x64xf32>, %y: tensor<2x16x32xf32>) -> tensor<64x32xf32> {
  %p = hone.dot_general %x, %y batch [] x [] contract [0, 1] x [0, 1]
      : tensor<2x16x64xf32>, tensor<2x16x32xf32> -> tensor<64x32xf32>
  return %p : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @batched
// CHECK-NOT: hone.transpose
// CHECK: hone.dot_general %arg0, %arg1
func.func @batched(%x: tensor<4x16x64xf32>, %y: tensor<4x64x32xf32>) -> tensor<4x16x32xf32> {
  %p = hone.dot_general %x, %y batch [0] x [0] contract [2] x [1]
      : tensor<4x16x64xf32>, tensor<4x64x32xf32> -> tensor<4x16x32xf32>
  return %p : tensor<4x16x32xf32>
}

// Heads lie inside of time, but one stride apart: [time, heads, width] in place.
// CHECK-LABEL: func.func @heads_inside
// CHECK-NOT: hone.transpose
// CHECK: hone.dot_general %arg0, %arg1
func.func @heads_inside(%x: tensor<16x4x8xf32>, %y: tensor<16x4x8xf32>) -> tensor<4x16x16xf32> {
  %p = hone.dot_general %x, %y batch [1] x [1] contract [2] x [2]
      : tensor<16x4x8xf32>, tensor<16x4x8xf32> -> tensor<4x16x16xf32>
  return %p : tensor<4x16x16xf32>
}
