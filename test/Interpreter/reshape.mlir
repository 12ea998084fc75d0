// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @keeps_row_major_order
// CHECK-NEXT: result 0: tensor<3x2xi64> = {{\[\[}}1, 2], [3, 4], [5, 6]]{{$}}
func.func @keeps_row_major_order() -> tensor<3x2xi64> {
  %a = hone.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.reshape %a : tensor<2x3xi64> -> tensor<3x2xi64>
  return %r : tensor<3x2xi64>
}

// CHECK-LABEL: @to_scalar
// CHECK-NEXT: result 0: tensor<f32> = 7{{$}}
func.func @to_scalar() -> tensor<f32> {
  %a = hone.constant dense<[[7.0]]> : tensor<1x1xf32>
  %r = hone.reshape %a : tensor<1x1xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<2x0xf32> = {{\[\[}}], []]{{$}}
func.func @empty() -> tensor<2x0xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.reshape %a : tensor<0x3xf32> -> tensor<2x0xf32>
  return %r : tensor<2x0xf32>
}
