// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}-1, 2.5, -0], [0, -3, -9.9999461e-41]]{{$}}
func.func @odd_shape() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, -2.5, 0.0], [-0.0, 3.0, 1.0e-40]]> : tensor<2x3xf32>
  %r = hone.neg %a : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<3xf32> = [-inf, inf, nan]{{$}}
func.func @special() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = hone.neg %a : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @least_integer_wraps
// CHECK-NEXT: result 0: tensor<2xi8> = [-128, -5]{{$}}
func.func @least_integer_wraps() -> tensor<2xi8> {
  %a = hone.constant dense<[-128, 5]> : tensor<2xi8>
  %r = hone.neg %a : tensor<2xi8>
  return %r : tensor<2xi8>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.neg %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}

// CHECK-LABEL: @scalar
// CHECK-NEXT: result 0: tensor<i64> = -7{{$}}
func.func @scalar() -> tensor<i64> {
  %a = hone.constant dense<7> : tensor<i64>
  %r = hone.neg %a : tensor<i64>
  return %r : tensor<i64>
}
