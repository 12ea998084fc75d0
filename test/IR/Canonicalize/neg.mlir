// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @twice
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @twice(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.neg %x : tensor<8x64xf32>
  %1 = hone.neg %0 : tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// CHECK-LABEL: @once_stays
func.func @once_stays(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: hone.neg
  %0 = hone.neg %x : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
