// RUN: hone-opt %s --cse | FileCheck %s
// RUN: hone-opt %s --cse | hone-run --compare %s - --args 7 --bitwise

// Equal random ops are one: a mask depends on key, salt and index only.
// CHECK-LABEL: @same_salt
func.func @same_salt(%x: tensor<8xf32>, %key: tensor<3xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-1: hone.dropout
  // CHECK-NOT: hone.dropout
  %0 = hone.dropout %x, %key p 0.1 salt 1 : tensor<8xf32>, tensor<3xi64>
  %1 = hone.dropout %x, %key p 0.1 salt 1 : tensor<8xf32>, tensor<3xi64>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @other_salt_stays
func.func @other_salt_stays(%x: tensor<8xf32>, %key: tensor<3xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-2: hone.dropout
  %0 = hone.dropout %x, %key p 0.1 salt 1 : tensor<8xf32>, tensor<3xi64>
  %1 = hone.dropout %x, %key p 0.1 salt 2 : tensor<8xf32>, tensor<3xi64>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Operands of a commutative op may be in any order.
// CHECK-LABEL: @commuted
func.func @commuted(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-1: hone.add
  // CHECK-NOT: hone.add
  %0 = hone.add %x, %y : tensor<8xf32>
  %1 = hone.add %y, %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
