// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @times_one
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @times_one(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<1.0> : tensor<8xf32>
  %0 = hone.mul %c, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @over_one
// CHECK-SAME: (%[[X:.+]]: tensor<8xi32>)
func.func @over_one(%x: tensor<8xi32>) -> tensor<8xi32> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<1> : tensor<8xi32>
  %0 = hone.div %x, %c : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// 0 * NaN is NaN.
// CHECK-LABEL: @times_zero_stays
func.func @times_zero_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.mul
  %c = hone.constant dense<0.0> : tensor<8xf32>
  %0 = hone.mul %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @one_over_stays
func.func @one_over_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.div
  %c = hone.constant dense<1.0> : tensor<8xf32>
  %0 = hone.div %c, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
