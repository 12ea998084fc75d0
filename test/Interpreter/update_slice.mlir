// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<4x2xi64> = {{\[\[}}1, 2], [10, 20], [30, 40], [7, 8]]{{$}}
func.func @rows() -> tensor<4x2xi64> {
  %x = hone.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi64>
  %u = hone.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi64>
  %at = hone.constant dense<1> : tensor<i64>
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<4x2xi64>, tensor<2x2xi64>
  return %y : tensor<4x2xi64>
}

// CHECK-LABEL: @column
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}1, 2, 9], [4, 5, 8]]{{$}}
func.func @column() -> tensor<2x3xf32> {
  %x = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %u = hone.constant dense<[[9.0], [8.0]]> : tensor<2x1xf32>
  %at = hone.constant dense<2> : tensor<i64>
  %y = hone.update_slice %x, %u at %at dim 1 : tensor<2x3xf32>, tensor<2x1xf32>
  return %y : tensor<2x3xf32>
}
