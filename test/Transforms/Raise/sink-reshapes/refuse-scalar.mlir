// RUN: hone-opt %s --hone-sink-reshapes | FileCheck %s

// A reshape to or from rank 0 has no rows.

// CHECK-LABEL: func.func @to_scalar
// CHECK: %[[R:.+]] = hone.reshape
// CHECK-NEXT: hone.neg %[[R]] : tensor<f32>
func.func @to_scalar(%x: tensor<1xf32>) -> tensor<f32> {
  %0 = hone.neg %x : tensor<1xf32>
  %1 = hone.reshape %0 : tensor<1xf32> -> tensor<f32>
  %2 = hone.neg %1 : tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @from_scalar
// CHECK: %[[R:.+]] = hone.reshape
// CHECK-NEXT: hone.neg %[[R]] : tensor<1x1xf32>
func.func @from_scalar(%x: tensor<f32>) -> tensor<1x1xf32> {
  %0 = hone.neg %x : tensor<f32>
  %1 = hone.reshape %0 : tensor<f32> -> tensor<1x1xf32>
  %2 = hone.neg %1 : tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}
