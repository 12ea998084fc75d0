// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}3, -8, -0]]{{$}}
func.func @odd_shape() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[1.5, -2.0, 0.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[2.0, 4.0, -1.0]]> : tensor<1x3xf32>
  %r = hone.mul %a, %b : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<3xf32> = [-inf, nan, nan]{{$}}
func.func @special() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7F800000, 0.0, 0x7FC00000]> : tensor<3xf32>
  %b = hone.constant dense<[-1.0, 0x7F800000, 0.0]> : tensor<3xf32>
  %r = hone.mul %a, %b : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @overflows_to_infinity
// CHECK-NEXT: result 0: tensor<1xf32> = [inf]{{$}}
func.func @overflows_to_infinity() -> tensor<1xf32> {
  %a = hone.constant dense<[3.0e+38]> : tensor<1xf32>
  %b = hone.constant dense<[10.0]> : tensor<1xf32>
  %r = hone.mul %a, %b : tensor<1xf32>
  return %r : tensor<1xf32>
}

// CHECK-LABEL: @integers_wrap
// CHECK-NEXT: result 0: tensor<2xi64> = [-9223372036854775808, -12]{{$}}
func.func @integers_wrap() -> tensor<2xi64> {
  %a = hone.constant dense<[4611686018427387904, 3]> : tensor<2xi64>
  %b = hone.constant dense<[2, -4]> : tensor<2xi64>
  %r = hone.mul %a, %b : tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.mul %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
