// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0.0900305733, 0.244728476, 0.665240943], [0.333333343, 0.333333343, 0.333333343]]{{$}}
func.func @rows() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %r = hone.softmax %a : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @large_values_do_not_overflow
// CHECK-NEXT: result 0: tensor<2xf32> = [0.268941432, 0.731058598]{{$}}
func.func @large_values_do_not_overflow() -> tensor<2xf32> {
  %a = hone.constant dense<[1000.0, 1001.0]> : tensor<2xf32>
  %r = hone.softmax %a : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @masked
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}0.5, 0, 0.5]]{{$}}
func.func @masked() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[0.0, 0xFF800000, 0.0]]> : tensor<1x3xf32>
  %r = hone.softmax %a : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @all_masked_is_nan
// CHECK-NEXT: result 0: tensor<1x2xf32> = {{\[\[}}nan, nan]]{{$}}
func.func @all_masked_is_nan() -> tensor<1x2xf32> {
  %a = hone.constant dense<[[0xFF800000, 0xFF800000]]> : tensor<1x2xf32>
  %r = hone.softmax %a : tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}

// CHECK-LABEL: @nan_and_infinity
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}nan, nan], [nan, nan]]{{$}}
func.func @nan_and_infinity() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[0x7FC00000, 1.0], [0x7F800000, 1.0]]> : tensor<2x2xf32>
  %r = hone.softmax %a : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @width_one
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}1], [1]]{{$}}
func.func @width_one() -> tensor<2x1xf32> {
  %a = hone.constant dense<[[5.0], [-5.0]]> : tensor<2x1xf32>
  %r = hone.softmax %a : tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}

// CHECK-LABEL: @width_zero
// CHECK-NEXT: result 0: tensor<2x0xf32> = {{\[\[}}], []]{{$}}
func.func @width_zero() -> tensor<2x0xf32> {
  %a = hone.constant dense<> : tensor<2x0xf32>
  %r = hone.softmax %a : tensor<2x0xf32>
  return %r : tensor<2x0xf32>
}
