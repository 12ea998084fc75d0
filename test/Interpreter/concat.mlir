// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @columns
// CHECK-NEXT: result 0: tensor<2x3xi64> = {{\[\[}}1, 3, 4], [2, 5, 6]]{{$}}
func.func @columns() -> tensor<2x3xi64> {
  %a = hone.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %b = hone.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi64>
  %r = hone.concat %a, %b dim 1 : (tensor<2x1xi64>, tensor<2x2xi64>) -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @rows_with_an_empty_operand
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}1, 2], [3, 4]]{{$}}
func.func @rows_with_an_empty_operand() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %b = hone.constant dense<> : tensor<0x2xf32>
  %c = hone.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
  %r = hone.concat %a, %b, %c dim 0 : (tensor<1x2xf32>, tensor<0x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
