// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @last
// CHECK-NEXT: result 0: tensor<2x2xi64> = {{\[\[}}3, 1], [5, 5]]{{$}}
func.func @last() -> tensor<2x2xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = hone.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi64>
  %y = hone.take_along %a, %i dim 1 : tensor<2x3xi64>, tensor<2x2xi64> -> tensor<2x2xi64>
  return %y : tensor<2x2xi64>
}

// CHECK-LABEL: @first
// CHECK-NEXT: result 0: tensor<1x3xi64> = {{\[\[}}4, 2, 6]]{{$}}
func.func @first() -> tensor<1x3xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = hone.constant dense<[[1, 0, 1]]> : tensor<1x3xi32>
  %y = hone.take_along %a, %i dim 0 : tensor<2x3xi64>, tensor<1x3xi32> -> tensor<1x3xi64>
  return %y : tensor<1x3xi64>
}
