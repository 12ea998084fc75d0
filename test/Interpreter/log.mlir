// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<3x1xf32> = {{\[\[}}0], [0.693147182], [-2.30258512]]{{$}}
func.func @odd_shape() -> tensor<3x1xf32> {
  %a = hone.constant dense<[[1.0], [2.0], [0.1]]> : tensor<3x1xf32>
  %r = hone.log %a : tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<4xf32> = [-inf, nan, inf, nan]{{$}}
func.func @special() -> tensor<4xf32> {
  %a = hone.constant dense<[0.0, -1.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %r = hone.log %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.log %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
