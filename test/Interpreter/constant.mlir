// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @elements
// CHECK-NEXT: result 0: tensor<2x3xi32> = {{\[\[}}1, -2, 3], [4, 5, 6]]{{$}}
func.func @elements() -> tensor<2x3xi32> {
  %a = hone.constant dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  return %a : tensor<2x3xi32>
}

// CHECK-LABEL: @splat
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}2.5, 2.5], [2.5, 2.5]]{{$}}
func.func @splat() -> tensor<2x2xf32> {
  %a = hone.constant dense<2.5> : tensor<2x2xf32>
  return %a : tensor<2x2xf32>
}

// CHECK-LABEL: @special_values
// CHECK-NEXT: result 0: tensor<3xf32> = [inf, -inf, nan]{{$}}
func.func @special_values() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  return %a : tensor<3xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<2x0xf32> = {{\[\[}}], []]{{$}}
func.func @empty() -> tensor<2x0xf32> {
  %a = hone.constant dense<> : tensor<2x0xf32>
  return %a : tensor<2x0xf32>
}

// CHECK-LABEL: @low_precision
// CHECK-NEXT: result 0: tensor<bf16> = 0.100097656{{$}}
// CHECK-NEXT: result 1: tensor<f16> = 0.0999755859{{$}}
func.func @low_precision() -> (tensor<bf16>, tensor<f16>) {
  %a = hone.constant dense<0.1> : tensor<bf16>
  %b = hone.constant dense<0.1> : tensor<f16>
  return %a, %b : tensor<bf16>, tensor<f16>
}
