// RUN: hone-opt %s --hone-sink-reshapes --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @flattened_projection
// CHECK-SAME: %[[X:.*]]: tensor<2x16x64xf32>, %[[W:.*]]: tensor<64x96xf32>, %[[B:.*]]: tensor<96xf32>
// CHECK-NEXT: %[[D:.*]] = hone.dot_general %[[X]], %[[W]] batch [] x [] contract [2] x [0]
// CHECK-NEXT: %[[V:.*]] = hone.broadcast %[[B]] dims [2] : tensor<96xf32> -> tensor<2x16x96xf32>
// CHECK-NEXT: %[[S:.*]] = hone.add %[[D]], %[[V]]
// CHECK-NEXT: %[[G:.*]] = hone.gelu tanh %[[S]]
// CHECK-NEXT: return %[[G]]
func.func @flattened_projection(%x: tensor<2x16x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>)
    -> tensor<2x16x96xf32> {
  %f = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
  %d = hone.dot_general %f, %w batch [] x [] contract [1] x [0]
      : tensor<32x64xf32>, tensor<64x96xf32> -> tensor<32x96xf32>
  %v = hone.broadcast %b dims [1] : tensor<96xf32> -> tensor<32x96xf32>
  %s = hone.add %d, %v : tensor<32x96xf32>
  %g = hone.gelu tanh %s : tensor<32x96xf32>
  %y = hone.reshape %g : tensor<32x96xf32> -> tensor<2x16x96xf32>
  return %y : tensor<2x16x96xf32>
}

// The heads of attention merge into the width, the rows stay apart.
// CHECK-LABEL: func.func @heads_merge
// CHECK: %[[X:.*]] = hone.reshape %{{.*}} : tensor<2x16x4x6xf32> -> tensor<2x16x24xf32>
// CHECK: hone.dot_general %[[X]], {{.*}} contract [2] x [1] {{.*}} -> tensor<2x16x48xf32>
func.func @heads_merge(%x: tensor<2x16x4x6xf32>, %w: tensor<48x24xf32>) -> tensor<2x16x48xf32> {
  %f = hone.reshape %x : tensor<2x16x4x6xf32> -> tensor<32x24xf32>
  %d = hone.dot_general %f, %w batch [] x [] contract [1] x [1]
      : tensor<32x24xf32>, tensor<48x24xf32> -> tensor<32x48xf32>
  %y = hone.reshape %d : tensor<32x48xf32> -> tensor<2x16x48xf32>
  return %y : tensor<2x16x48xf32>
}

// Rows that are no leading dimensions.
// CHECK-LABEL: func.func @rows_regrouped
// CHECK: %[[F:.*]] = hone.reshape
// CHECK: hone.dot_general %[[F]], {{.*}} contract [1] x [1]
func.func @rows_regrouped(%x: tensor<2x9x64xf32>, %w: tensor<48x192xf32>) -> tensor<6x48xf32> {
  %f = hone.reshape %x : tensor<2x9x64xf32> -> tensor<6x192xf32>
  %d = hone.dot_general %f, %w batch [] x [] contract [1] x [1]
      : tensor<6x192xf32>, tensor<48x192xf32> -> tensor<6x48xf32>
  return %d : tensor<6x48xf32>
}

// The matrix has rows of its own: the sum stays flat.
// CHECK-LABEL: func.func @other_operand
// CHECK: %[[D:.*]] = hone.dot_general {{.*}} -> tensor<2x16x96xf32>
// CHECK: %[[F:.*]] = hone.reshape %[[D]]
// CHECK: hone.add %[[F]], {{.*}} : tensor<32x96xf32>
func.func @other_operand(%x: tensor<2x16x64xf32>, %w: tensor<64x96xf32>, %m: tensor<32x96xf32>) -> tensor<32x96xf32> {
  %f = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
  %d = hone.dot_general %f, %w batch [] x [] contract [1] x [0]
      : tensor<32x64xf32>, tensor<64x96xf32> -> tensor<32x96xf32>
  %s = hone.add %d, %m : tensor<32x96xf32>
  return %s : tensor<32x96xf32>
}
