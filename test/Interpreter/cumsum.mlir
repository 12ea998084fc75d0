// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @forward
// CHECK-NEXT: result 0: tensor<2x3xi64> = {{\[\[}}1, 3, 6], [4, 9, 15]]{{$}}
func.func @forward() -> tensor<2x3xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.cumsum %a dim 1 : tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @reverse
// CHECK-NEXT: result 0: tensor<2x3xi64> = {{\[\[}}6, 5, 3], [15, 11, 6]]{{$}}
func.func @reverse() -> tensor<2x3xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.cumsum %a dim 1 reverse : tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @leading
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}1, 2, 3], [5, 7, -3]]{{$}}
func.func @leading() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.cumsum %a dim 0 : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @infinity_then_nan
// CHECK-NEXT: result 0: tensor<4xf32> = [1, inf, nan, nan]{{$}}
func.func @infinity_then_nan() -> tensor<4xf32> {
  %a = hone.constant dense<[1.0, 0x7F800000, 0xFF800000, 1.0]> : tensor<4xf32>
  %r = hone.cumsum %a dim 0 : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %r = hone.cumsum %a dim 0 : tensor<0xf32>
  return %r : tensor<0xf32>
}
