// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// An elementwise op walks rows with gaps, but not as the epilogue of a product: what it reads there is copied, and what it
// makes there is whole.

// CHECK-LABEL: func.func @addend_is_a_slice
// CHECK: %[[PART:.*]] = hone.fused data_movement (%{{.*}} = %arg2 : tensor<8x33xf32>)
// CHECK-NEXT: hone.slice
// CHECK: hone.fused contraction ({{.*}} = %[[PART]] : tensor<8x32xf32>)
func.func @addend_is_a_slice(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %wide: tensor<8x33xf32>)
    -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %part = hone.slice %wide [0, 0] to [8, 32] by [1, 1] : tensor<8x33xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %part : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @sum_in_a_concat
// CHECK: hone.fused contraction
// CHECK: hone.add
// CHECK: hone.fused data_movement
// CHECK-NEXT: hone.concat
func.func @sum_in_a_concat(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %y: tensor<8x32xf32>, %u: tensor<8x32xf32>)
    -> tensor<8x64xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %y : tensor<8x32xf32>
  %s = hone.add %u, %y : tensor<8x32xf32>
  %c = hone.concat %r, %s dim 1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// Rows that lie one behind the other have no gaps.
// CHECK-LABEL: func.func @addend_is_rows
// CHECK: hone.slice
// CHECK-NOT: hone.fused data_movement
// CHECK: hone.fused contraction
func.func @addend_is_rows(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %long: tensor<9x32xf32>) -> tensor<8x32xf32> {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %part = hone.slice %long [0, 0] to [8, 32] by [1, 1] : tensor<9x32xf32> -> tensor<8x32xf32>
  %r = hone.add %p, %part : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
