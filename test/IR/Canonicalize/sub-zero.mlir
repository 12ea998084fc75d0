// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @zero
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @zero(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<0.0> : tensor<8xf32>
  %0 = hone.sub %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -0 - -0 is 0, not -0.
// CHECK-LABEL: @negative_zero_stays
func.func @negative_zero_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.sub
  %c = hone.constant dense<-0.0> : tensor<8xf32>
  %0 = hone.sub %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @zero_on_the_left_stays
func.func @zero_on_the_left_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.sub
  %c = hone.constant dense<0.0> : tensor<8xf32>
  %0 = hone.sub %c, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
