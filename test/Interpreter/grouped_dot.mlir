// RUN: hone-run --eval %s | FileCheck %s

// The second group is empty, and the last row is in none.

// CHECK-LABEL: @groups
// CHECK-NEXT: result 0: tensor<4x1xf32> = {{\[\[}}1], [20], [30], [0]]{{$}}
func.func @groups() -> tensor<4x1xf32> {
  %x = hone.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %w = hone.constant dense<[[[1.0]], [[100.0]], [[10.0]]]> : tensor<3x1x1xf32>
  %e = hone.constant dense<[1, 1, 3]> : tensor<3xi64>
  %y = hone.grouped_dot %x, %w, %e contract 1 : tensor<4x1xf32>, tensor<3x1x1xf32>, tensor<3xi64> -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}

// CHECK-LABEL: @other_dimension
// CHECK-NEXT: result 0: tensor<1x2xf32> = {{\[\[}}21, 43]]{{$}}
func.func @other_dimension() -> tensor<1x2xf32> {
  %x = hone.constant dense<[[1.0, 10.0]]> : tensor<1x2xf32>
  %w = hone.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %e = hone.constant dense<1> : tensor<1xi32>
  %y = hone.grouped_dot %x, %w, %e contract 2 : tensor<1x2xf32>, tensor<1x2x2xf32>, tensor<1xi32> -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
