// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @box
// CHECK-NEXT: result 0: tensor<1x2xi64> = {{\[\[}}5, 6]]{{$}}
func.func @box() -> tensor<1x2xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.slice %a [1, 1] to [2, 3] by [1, 1] : tensor<2x3xi64> -> tensor<1x2xi64>
  return %r : tensor<1x2xi64>
}

// CHECK-LABEL: @strided
// CHECK-NEXT: result 0: tensor<2xf32> = [1, 4]{{$}}
func.func @strided() -> tensor<2xf32> {
  %a = hone.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<7xf32>
  %r = hone.slice %a [1] to [7] by [3] : tensor<7xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @nothing
// CHECK-NEXT: result 0: tensor<2x0xi64> = {{\[\[}}], []]{{$}}
func.func @nothing() -> tensor<2x0xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.slice %a [0, 3] to [2, 3] by [1, 1] : tensor<2x3xi64> -> tensor<2x0xi64>
  return %r : tensor<2x0xi64>
}
