// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @matrix
// CHECK-NEXT: result 0: tensor<3x2xi64> = {{\[\[}}1, 4], [2, 5], [3, 6]]{{$}}
func.func @matrix() -> tensor<3x2xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.transpose %a [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  return %r : tensor<3x2xi64>
}

// Dimension d of the result is dimension permutation[d] of the operand.
// CHECK-LABEL: @rotation
// CHECK-NEXT: result 0: tensor<3x1x2xf32> = {{\[\[\[}}1, 4]], {{\[\[}}2, 5]], {{\[\[}}3, 6]]]{{$}}
func.func @rotation() -> tensor<3x1x2xf32> {
  %a = hone.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %r = hone.transpose %a [2, 0, 1] : tensor<1x2x3xf32> -> tensor<3x1x2xf32>
  return %r : tensor<3x1x2xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<3x0xf32> = {{\[\[}}], [], []]{{$}}
func.func @empty() -> tensor<3x0xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.transpose %a [1, 0] : tensor<0x3xf32> -> tensor<3x0xf32>
  return %r : tensor<3x0xf32>
}
