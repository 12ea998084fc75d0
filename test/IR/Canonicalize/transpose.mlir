// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @identity
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @identity(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.transpose %x [0, 1] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK-SAME: (%[[X:.+]]: tensor<2x8x64xf32>)
func.func @there_and_back(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.transpose %x [1, 2, 0] : tensor<2x8x64xf32> -> tensor<8x64x2xf32>
  %1 = hone.transpose %0 [2, 0, 1] : tensor<8x64x2xf32> -> tensor<2x8x64xf32>
  return %1 : tensor<2x8x64xf32>
}

// CHECK-LABEL: @two_become_one
// CHECK-SAME: (%[[X:.+]]: tensor<2x8x64xf32>)
func.func @two_become_one(%x: tensor<2x8x64xf32>) -> tensor<64x2x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = hone.transpose %[[X]] [2, 0, 1]
  // CHECK-NEXT: return %[[Y]]
  %0 = hone.transpose %x [1, 2, 0] : tensor<2x8x64xf32> -> tensor<8x64x2xf32>
  %1 = hone.transpose %0 [1, 2, 0] : tensor<8x64x2xf32> -> tensor<64x2x8xf32>
  return %1 : tensor<64x2x8xf32>
}

// CHECK-LABEL: @moves_only_ones
// CHECK-SAME: (%[[X:.+]]: tensor<8x1x64xf32>)
func.func @moves_only_ones(%x: tensor<8x1x64xf32>) -> tensor<1x8x64xf32> {
  // CHECK-NEXT: hone.reshape %[[X]] : tensor<8x1x64xf32> -> tensor<1x8x64xf32>
  %0 = hone.transpose %x [1, 0, 2] : tensor<8x1x64xf32> -> tensor<1x8x64xf32>
  return %0 : tensor<1x8x64xf32>
}

// CHECK-LABEL: @moves_elements_stays
func.func @moves_elements_stays(%x: tensor<8x1x64xf32>) -> tensor<64x1x8xf32> {
  // CHECK: hone.transpose
  %0 = hone.transpose %x [2, 1, 0] : tensor<8x1x64xf32> -> tensor<64x1x8xf32>
  return %0 : tensor<64x1x8xf32>
}

// CHECK-LABEL: @splat
func.func @splat() -> tensor<4x2xi32> {
  // CHECK-NEXT: hone.constant dense<3> : tensor<4x2xi32>
  %c = hone.constant dense<3> : tensor<2x4xi32>
  %0 = hone.transpose %c [1, 0] : tensor<2x4xi32> -> tensor<4x2xi32>
  return %0 : tensor<4x2xi32>
}
