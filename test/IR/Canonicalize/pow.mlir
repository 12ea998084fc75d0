// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7

// CHECK-LABEL: @one
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @one(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %c = hone.constant dense<1.0> : tensor<8xf32>
  %0 = hone.pow %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @two
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @two(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = hone.mul %[[X]], %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %c = hone.constant dense<2.0> : tensor<8xf32>
  %0 = hone.pow %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @three
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @three(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[S:.+]] = hone.mul %[[X]], %[[X]]
  // CHECK-NEXT: %[[Y:.+]] = hone.mul %[[S]], %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %c = hone.constant dense<3.0> : tensor<8xf32>
  %0 = hone.pow %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @half_stays
func.func @half_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hone.pow
  %c = hone.constant dense<0.5> : tensor<8xf32>
  %0 = hone.pow %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @different_exponents_stay
func.func @different_exponents_stay(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: hone.pow
  %c = hone.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = hone.pow %x, %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}
