// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @reduces_nothing
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @reduces_nothing(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.reduce sum %x dims [] : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @size_one_stays
func.func @size_one_stays(%x: tensor<8x1xf32>) -> tensor<8xf32> {
  // CHECK: hone.reduce
  %0 = hone.reduce max %x dims [1] : tensor<8x1xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @drops_nothing
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>
func.func @drops_nothing(%x: tensor<8xf32>, %key: tensor<3xi64>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.dropout %x, %key p 0.0 salt 1 : tensor<8xf32>, tensor<3xi64>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @drops_some_stays
func.func @drops_some_stays(%x: tensor<8xf32>, %key: tensor<3xi64>) -> tensor<8xf32> {
  // CHECK: hone.dropout
  %0 = hone.dropout %x, %key p 0.1 salt 1 : tensor<8xf32>, tensor<3xi64>
  return %0 : tensor<8xf32>
}
