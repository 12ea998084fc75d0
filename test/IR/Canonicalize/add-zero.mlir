// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @negative_zero
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @negative_zero(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<-0.0> : tensor<8xf32>
  %0 = hone.add %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @constant_on_the_left
// CHECK-SAME: (%[[X:.+]]: tensor<8xi64>)
func.func @constant_on_the_left(%x: tensor<8xi64>) -> tensor<8xi64> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<0> : tensor<8xi64>
  %0 = hone.add %c, %x : tensor<8xi64>
  return %0 : tensor<8xi64>
}

// -0 + 0 is 0, not -0.
// CHECK-LABEL: @positive_zero_stays
func.func @positive_zero_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.add
  %c = hone.constant dense<0.0> : tensor<8xf32>
  %0 = hone.add %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @not_all_zero_stays
func.func @not_all_zero_stays(%x: tensor<2xi64>) -> tensor<2xi64> {
  // CHECK: hone.add
  %c = hone.constant dense<[0, 1]> : tensor<2xi64>
  %0 = hone.add %x, %c : tensor<2xi64>
  return %0 : tensor<2xi64>
}
