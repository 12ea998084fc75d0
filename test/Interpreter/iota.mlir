// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<3x2xi64> = {{\[\[}}0, 0], [1, 1], [2, 2]]{{$}}
func.func @rows() -> tensor<3x2xi64> {
  %r = hone.iota dim 0 : tensor<3x2xi64>
  return %r : tensor<3x2xi64>
}

// CHECK-LABEL: @columns_float
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0, 1, 2], [0, 1, 2]]{{$}}
func.func @columns_float() -> tensor<2x3xf32> {
  %r = hone.iota dim 1 : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// 257 lies half way between two bf16 numbers.
// CHECK-LABEL: @inexact_in_bf16
// CHECK-NEXT: result 0: tensor<2xbf16> = [256, 256]{{$}}
func.func @inexact_in_bf16() -> tensor<2xbf16> {
  %i = hone.iota dim 0 : tensor<258xbf16>
  %r = hone.slice %i [256] to [258] by [1] : tensor<258xbf16> -> tensor<2xbf16>
  return %r : tensor<2xbf16>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xi32> = []{{$}}
func.func @empty() -> tensor<0xi32> {
  %r = hone.iota dim 0 : tensor<0xi32>
  return %r : tensor<0xi32>
}
