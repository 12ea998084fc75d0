// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Rows of a tensor are a run of its memory: any kernel reads them there.
// CHECK-LABEL: func.func @slice_of_rows
// CHECK-NOT: hone.fused
// CHECK:     %[[S:.*]] = hone.slice %{{.*}} [3, 0] to [8, 64]
// CHECK:     hone.fused contraction (%{{.*}} = %[[S]] :
func.func @slice_of_rows(%x: tensor<16x64xf32>, %w: tensor<32x64xf32>) -> tensor<5x32xf32> {
  %s = hone.slice %x [3, 0] to [8, 64] by [1, 1] : tensor<16x64xf32> -> tensor<5x64xf32>
  %r = hone.dot_general %s, %w batch [] x [] contract [1] x [1]
      : tensor<5x64xf32>, tensor<32x64xf32> -> tensor<5x32xf32>
  return %r : tensor<5x32xf32>
}

// So are rows of one matrix of a batch.
// CHECK-LABEL: func.func @slice_of_one_matrix
// CHECK-NOT: hone.fused
// CHECK:     hone.slice
// CHECK:     hone.fused map
func.func @slice_of_one_matrix(%x: tensor<4x16x64xf32>) -> tensor<1x5x64xf32> {
  %s = hone.slice %x [2, 3, 0] to [3, 8, 64] by [1, 1, 1] : tensor<4x16x64xf32> -> tensor<1x5x64xf32>
  %r = hone.tanh %s : tensor<1x5x64xf32>
  return %r : tensor<1x5x64xf32>
}

// Rows of several matrices lie apart, and so does every other row.
// CHECK-LABEL: func.func @slices_with_gaps
// CHECK: hone.fused data_movement
// CHECK: hone.fused data_movement
func.func @slices_with_gaps(%x: tensor<4x16x64xf32>, %w: tensor<32x64xf32>, %y: tensor<10x64xf32>)
    -> (tensor<4x5x32xf32>, tensor<5x32xf32>) {
  %s = hone.slice %x [0, 3, 0] to [4, 8, 64] by [1, 1, 1] : tensor<4x16x64xf32> -> tensor<4x5x64xf32>
  %r = hone.dot_general %s, %w batch [] x [] contract [2] x [1]
      : tensor<4x5x64xf32>, tensor<32x64xf32> -> tensor<4x5x32xf32>
  %t = hone.slice %y [0, 0] to [10, 64] by [2, 1] : tensor<10x64xf32> -> tensor<5x64xf32>
  %q = hone.dot_general %t, %w batch [] x [] contract [1] x [1]
      : tensor<5x64xf32>, tensor<32x64xf32> -> tensor<5x32xf32>
  return %r, %q : tensor<4x5x32xf32>, tensor<5x32xf32>
}

// Each part is written in place by what makes it.
// CHECK-LABEL: func.func @concat_of_rows
// CHECK:     %[[A:.*]] = hone.fused contraction
// CHECK:     %[[B:.*]] = hone.fused map
// CHECK-NOT: hone.fused
// CHECK:     hone.concat %[[A]], %[[B]] dim 0
func.func @concat_of_rows(%x: tensor<5x64xf32>, %w: tensor<32x64xf32>, %y: tensor<3x32xf32>) -> tensor<8x32xf32> {
  %a = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<5x64xf32>, tensor<32x64xf32> -> tensor<5x32xf32>
  %b = hone.tanh %y : tensor<3x32xf32>
  %r = hone.concat %a, %b dim 0 : (tensor<5x32xf32>, tensor<3x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// An argument is where it is, and so is what another op reads too: those are copied.
// CHECK-LABEL: func.func @concat_of_others
// CHECK: hone.fused data_movement
// CHECK-NEXT: hone.concat
// CHECK: hone.fused data_movement
// CHECK-NEXT: hone.concat
func.func @concat_of_others(%x: tensor<5x32xf32>, %y: tensor<3x32xf32>)
    -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<3x32xf32>) {
  %a = hone.tanh %x : tensor<5x32xf32>
  %r = hone.concat %a, %y dim 0 : (tensor<5x32xf32>, tensor<3x32xf32>) -> tensor<8x32xf32>
  %b = hone.exp %x : tensor<5x32xf32>
  %c = hone.exp %y : tensor<3x32xf32>
  %s = hone.concat %b, %c dim 0 : (tensor<5x32xf32>, tensor<3x32xf32>) -> tensor<8x32xf32>
  return %r, %s, %c : tensor<8x32xf32>, tensor<8x32xf32>, tensor<3x32xf32>
}
