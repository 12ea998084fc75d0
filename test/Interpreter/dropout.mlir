// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @half
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}2, 0, 0], [8, 10, 0]]{{$}}
func.func @half() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %r = hone.dropout %a, %b p 0.5 salt 3 : tensor<2x3xf32>, tensor<3xi64>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @mask_depends_on_index_not_shape
// CHECK-NEXT: result 0: tensor<6xf32> = [2, 0, 0, 8, 10, 0]{{$}}
func.func @mask_depends_on_index_not_shape() -> tensor<6xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %b = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %r = hone.dropout %a, %b p 0.5 salt 3 : tensor<6xf32>, tensor<3xi64>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: @tenth
// CHECK-NEXT: result 0: tensor<6xf32> = [1.11111116, 2.22222233, 3.33333325, 4.44444466, 5.55555534, 6.66666651]{{$}}
func.func @tenth() -> tensor<6xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %b = hone.constant dense<[-5, 3, 1]> : tensor<3xi64>
  %r = hone.dropout %a, %b p 0.1 salt 0 : tensor<6xf32>, tensor<3xi64>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: @dropped_nan_is_zero
// CHECK-NEXT: result 0: tensor<6xf32> = [nan, 0, 0, nan, nan, 0]{{$}}
func.func @dropped_nan_is_zero() -> tensor<6xf32> {
  %a = hone.constant dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>
  %b = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %r = hone.dropout %a, %b p 0.5 salt 3 : tensor<6xf32>, tensor<3xi64>
  return %r : tensor<6xf32>
}

// A column of @half, and its last row.
// CHECK-LABEL: @columns
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}0], [10]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3xf32> = {{\[\[}}8, 10, 0]]{{$}}
func.func @columns() -> (tensor<2x1xf32>, tensor<1x3xf32>) {
  %a = hone.constant dense<[[2.0], [5.0]]> : tensor<2x1xf32>
  %c = hone.constant dense<[[4.0, 5.0, 6.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %one = hone.constant dense<1> : tensor<i64>
  %three = hone.constant dense<3> : tensor<i64>
  %r = hone.dropout %a, %b p 0.5 salt 3 origin %one of [2, 3] : tensor<2x1xf32>, tensor<3xi64>
  %s = hone.dropout %c, %b p 0.5 salt 3 origin %three of [2, 3] : tensor<1x3xf32>, tensor<3xi64>
  return %r, %s : tensor<2x1xf32>, tensor<1x3xf32>
}
