// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}1.5, 0, 3], [4, 5.25, 0]]{{$}}
func.func @odd_shape() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[[0.5, -2.0, 1.0e-09], [0.0, 0.25, -6.0]]> : tensor<2x3xf32>
  %r = hone.add %a, %b : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// 2^24 + 1 is no single-precision number.
// CHECK-LABEL: @rounds_to_single
// CHECK-NEXT: result 0: tensor<1xf32> = [16777216]{{$}}
func.func @rounds_to_single() -> tensor<1xf32> {
  %a = hone.constant dense<[16777216.0]> : tensor<1xf32>
  %b = hone.constant dense<[1.0]> : tensor<1xf32>
  %r = hone.add %a, %b : tensor<1xf32>
  return %r : tensor<1xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<3xf32> = [inf, nan, nan]{{$}}
func.func @special() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %b = hone.constant dense<[1.0, 0xFF800000, 1.0]> : tensor<3xf32>
  %r = hone.add %a, %b : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @integers_wrap
// CHECK-NEXT: result 0: tensor<2xi32> = [-2147483648, 3]{{$}}
func.func @integers_wrap() -> tensor<2xi32> {
  %a = hone.constant dense<[2147483647, 1]> : tensor<2xi32>
  %b = hone.constant dense<[1, 2]> : tensor<2xi32>
  %r = hone.add %a, %b : tensor<2xi32>
  return %r : tensor<2xi32>
}

// Half way: to even.
// CHECK-LABEL: @bfloat16_rounds_once
// CHECK-NEXT: result 0: tensor<2xbf16> = [1, 256]{{$}}
func.func @bfloat16_rounds_once() -> tensor<2xbf16> {
  %a = hone.constant dense<[1.0, 256.0]> : tensor<2xbf16>
  %b = hone.constant dense<[0.00390625, 1.0]> : tensor<2xbf16>
  %r = hone.add %a, %b : tensor<2xbf16>
  return %r : tensor<2xbf16>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.add %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
