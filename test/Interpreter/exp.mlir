// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}1, 2.71828175, 0.135335281]]{{$}}
func.func @odd_shape() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[0.0, 1.0, -2.0]]> : tensor<1x3xf32>
  %r = hone.exp %a : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// e^89 overflows single precision.
// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<4xf32> = [inf, 0, nan, inf]{{$}}
func.func @special() -> tensor<4xf32> {
  %a = hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 89.0]> : tensor<4xf32>
  %r = hone.exp %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.exp %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
