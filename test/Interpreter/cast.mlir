// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @float_to_integer_truncates
// CHECK-NEXT: result 0: tensor<4xi64> = [2, -2, 0, 0]{{$}}
func.func @float_to_integer_truncates() -> tensor<4xi64> {
  %a = hone.constant dense<[2.75, -2.75, 0.0, -0.5]> : tensor<4xf32>
  %r = hone.cast %a : tensor<4xf32> -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// CHECK-LABEL: @float_to_bool
// CHECK-NEXT: result 0: tensor<4xi1> = [false, false, true, true]{{$}}
func.func @float_to_bool() -> tensor<4xi1> {
  %a = hone.constant dense<[0.0, -0.0, 0.5, 0x7FC00000]> : tensor<4xf32>
  %r = hone.cast %a : tensor<4xf32> -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// Not the lowest bit.
// CHECK-LABEL: @integer_to_bool
// CHECK-NEXT: result 0: tensor<3xi1> = [false, true, true]{{$}}
func.func @integer_to_bool() -> tensor<3xi1> {
  %a = hone.constant dense<[0, 2, -1]> : tensor<3xi64>
  %r = hone.cast %a : tensor<3xi64> -> tensor<3xi1>
  return %r : tensor<3xi1>
}

// CHECK-LABEL: @bool_to_number
// CHECK-NEXT: result 0: tensor<2xf32> = [1, 0]{{$}}
func.func @bool_to_number() -> tensor<2xf32> {
  %a = hone.constant dense<[true, false]> : tensor<2xi1>
  %r = hone.cast %a : tensor<2xi1> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @bool_to_integer
// CHECK-NEXT: result 0: tensor<2xi32> = [1, 0]{{$}}
func.func @bool_to_integer() -> tensor<2xi32> {
  %a = hone.constant dense<[true, false]> : tensor<2xi1>
  %r = hone.cast %a : tensor<2xi1> -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// CHECK-LABEL: @wide_integer_keeps_low_bits
// CHECK-NEXT: result 0: tensor<3xi8> = [44, 127, 127]{{$}}
func.func @wide_integer_keeps_low_bits() -> tensor<3xi8> {
  %a = hone.constant dense<[300, -129, 127]> : tensor<3xi64>
  %r = hone.cast %a : tensor<3xi64> -> tensor<3xi8>
  return %r : tensor<3xi8>
}

// CHECK-LABEL: @integer_to_float_rounds_to_even
// CHECK-NEXT: result 0: tensor<2xf32> = [16777216, 16777220]{{$}}
func.func @integer_to_float_rounds_to_even() -> tensor<2xf32> {
  %a = hone.constant dense<[16777217, 16777219]> : tensor<2xi64>
  %r = hone.cast %a : tensor<2xi64> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @single_to_bf16_rounds_to_even
// CHECK-NEXT: result 0: tensor<4xbf16> = [1, 1.015625, 3.00405527e+38, nan]{{$}}
func.func @single_to_bf16_rounds_to_even() -> tensor<4xbf16> {
  %a = hone.constant dense<[1.00390625, 1.01171875, 3.0e+38, 0x7FC00000]> : tensor<4xf32>
  %r = hone.cast %a : tensor<4xf32> -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// CHECK-LABEL: @single_to_half_overflows
// CHECK-NEXT: result 0: tensor<3xf16> = [65504, inf, 0]{{$}}
func.func @single_to_half_overflows() -> tensor<3xf16> {
  %a = hone.constant dense<[65519.0, 65520.0, 1.0e-08]> : tensor<3xf32>
  %r = hone.cast %a : tensor<3xf32> -> tensor<3xf16>
  return %r : tensor<3xf16>
}

// CHECK-LABEL: @half_to_single
// CHECK-NEXT: result 0: tensor<2xf32> = [0.5, -2]{{$}}
func.func @half_to_single() -> tensor<2xf32> {
  %a = hone.constant dense<[0.5, -2.0]> : tensor<2xf16>
  %r = hone.cast %a : tensor<2xf16> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
