// RUN: hone-opt %s --hone-simplify-contractions | FileCheck %s

// Both repeat along the heads: one product, whose result repeats.
// CHECK-LABEL: func.func @both
// CHECK: %[[DOT:.*]] = hone.dot_general %arg0, %arg1 batch [0] x [0] contract [2] x [2] : tensor<4x64x128xf32>, tensor<4x32x128xf32> -> tensor<4x64x32xf32>
// CHECK: %[[ALL:.*]] = hone.broadcast %[[DOT]] dims [0, 2, 3] : tensor<4x64x32xf32> -> tensor<4x24x64x32xf32>
// CHECK: return %[[ALL]]
func.func @both(%c: tensor<4x64x128xf32>, %b: tensor<4x32x128xf32>) -> tensor<4x24x64x32xf32> {
  %0 = hone.broadcast %c dims [0, 1, 3] : tensor<4x64x128xf32> -> tensor<4x64x24x128xf32>
  %1 = hone.broadcast %b dims [0, 1, 3] : tensor<4x32x128xf32> -> tensor<4x32x24x128xf32>
  %2 = hone.dot_general %0, %1 batch [0, 2] x [0, 2] contract [3] x [3]
      : tensor<4x64x24x128xf32>, tensor<4x32x24x128xf32> -> tensor<4x24x64x32xf32>
  return %2 : tensor<4x24x64x32xf32>
}

// The heads become a free dimension of the other operand.
// CHECK-LABEL: func.func @one
// CHECK: %[[DOT:.*]] = hone.dot_general %arg0, %arg1 batch [0] x [0] contract [2] x [2] : tensor<4x64x128xf32>, tensor<4x24x128x32xf32> -> tensor<4x64x24x32xf32>
// CHECK: hone.transpose %[[DOT]] [0, 2, 1, 3]
func.func @one(%c: tensor<4x64x128xf32>, %s: tensor<4x24x128x32xf32>) -> tensor<4x24x64x32xf32> {
  %0 = hone.broadcast %c dims [0, 1, 3] : tensor<4x64x128xf32> -> tensor<4x64x24x128xf32>
  %1 = hone.dot_general %0, %s batch [0, 2] x [0, 1] contract [3] x [2]
      : tensor<4x64x24x128xf32>, tensor<4x24x128x32xf32> -> tensor<4x24x64x32xf32>
  return %1 : tensor<4x24x64x32xf32>
}

// A repeated free dimension; the dimension that is summed stays repeated.
// CHECK-LABEL: func.func @free
// CHECK: %[[SUMMED:.*]] = hone.broadcast %arg0 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
// CHECK: %[[DOT:.*]] = hone.dot_general %[[SUMMED]], %arg1 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
// CHECK: hone.broadcast %[[DOT]] dims [1, 2] : tensor<8x4xf32> -> tensor<2x8x4xf32>
func.func @free(%x: tensor<8xf32>, %w: tensor<16x4xf32>) -> tensor<2x8x4xf32> {
  %0 = hone.broadcast %x dims [1] : tensor<8xf32> -> tensor<2x8x16xf32>
  %1 = hone.dot_general %0, %w batch [] x [] contract [2] x [0]
      : tensor<2x8x16xf32>, tensor<16x4xf32> -> tensor<2x8x4xf32>
  return %1 : tensor<2x8x4xf32>
}

// A reshape between them keeps the heads apart.
// CHECK-LABEL: func.func @reshape
// CHECK: %[[CHUNKS:.*]] = hone.reshape %arg0 : tensor<256x128xf32> -> tensor<4x64x128xf32>
// CHECK: hone.dot_general %[[CHUNKS]], %arg1
func.func @reshape(%c: tensor<256x128xf32>, %s: tensor<4x24x128x32xf32>) -> tensor<4x24x64x32xf32> {
  %0 = hone.broadcast %c dims [0, 3] : tensor<256x128xf32> -> tensor<256x1x24x128xf32>
  %1 = hone.reshape %0 : tensor<256x1x24x128xf32> -> tensor<4x64x24x128xf32>
  %2 = hone.dot_general %1, %s batch [0, 2] x [0, 1] contract [3] x [2]
      : tensor<4x64x24x128xf32>, tensor<4x24x128x32xf32> -> tensor<4x24x64x32xf32>
  return %2 : tensor<4x24x64x32xf32>
}

// Joined with other dimensions, repeated ones are no longer apart (heads that share keys: attention knows those).
// CHECK-LABEL: func.func @joined
// CHECK: hone.dot_general {{.*}} : tensor<8x64x128xf32>, tensor<8x32x128xf32> -> tensor<8x64x32xf32>
func.func @joined(%k: tensor<2x64x128xf32>, %q: tensor<8x32x128xf32>) -> tensor<8x64x32xf32> {
  %0 = hone.broadcast %k dims [0, 2, 3] : tensor<2x64x128xf32> -> tensor<2x4x64x128xf32>
  %1 = hone.reshape %0 : tensor<2x4x64x128xf32> -> tensor<8x64x128xf32>
  %2 = hone.dot_general %1, %q batch [0] x [0] contract [2] x [2]
      : tensor<8x64x128xf32>, tensor<8x32x128xf32> -> tensor<8x64x32xf32>
  return %2 : tensor<8x64x32xf32>
}
