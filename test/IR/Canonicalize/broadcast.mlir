// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @nothing_new
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @nothing_new(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.broadcast %x dims [0, 1] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @two_become_one
// CHECK-SAME: (%[[X:.+]]: tensor<64xf32>)
func.func @two_become_one(%x: tensor<64xf32>) -> tensor<2x8x64x3xf32> {
  // CHECK-NEXT: %[[Y:.+]] = hone.broadcast %[[X]] dims [2] : tensor<64xf32> -> tensor<2x8x64x3xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = hone.broadcast %x dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %1 = hone.broadcast %0 dims [1, 2] : tensor<8x64xf32> -> tensor<2x8x64x3xf32>
  return %1 : tensor<2x8x64x3xf32>
}

// CHECK-LABEL: @adds_only_ones
// CHECK-SAME: (%[[X:.+]]: tensor<64xf32>)
func.func @adds_only_ones(%x: tensor<64xf32>) -> tensor<1x64xf32> {
  // CHECK-NEXT: hone.reshape %[[X]] : tensor<64xf32> -> tensor<1x64xf32>
  %0 = hone.broadcast %x dims [1] : tensor<64xf32> -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// CHECK-LABEL: @repeats_stays
func.func @repeats_stays(%x: tensor<64xf32>) -> tensor<8x64xf32> {
  // CHECK: hone.broadcast
  %0 = hone.broadcast %x dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @splat
func.func @splat() -> tensor<8x64xi1> {
  // CHECK-NEXT: hone.constant dense<true> : tensor<8x64xi1>
  %c = hone.constant dense<true> : tensor<i1>
  %0 = hone.broadcast %c dims [] : tensor<i1> -> tensor<8x64xi1>
  return %0 : tensor<8x64xi1>
}
