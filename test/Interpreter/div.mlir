// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}0.333333343, -0.5], [-2, 0]]{{$}}
func.func @odd_shape() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[1.0, 1.0], [-3.0, 0.0]]> : tensor<2x2xf32>
  %b = hone.constant dense<[[3.0, -2.0], [1.5, 5.0]]> : tensor<2x2xf32>
  %r = hone.div %a, %b : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<4xf32> = [inf, -inf, nan, nan]{{$}}
func.func @special() -> tensor<4xf32> {
  %a = hone.constant dense<[1.0, -1.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %b = hone.constant dense<[0.0, 0.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %r = hone.div %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @integers_toward_zero
// CHECK-NEXT: result 0: tensor<4xi64> = [3, -3, -3, 3]{{$}}
func.func @integers_toward_zero() -> tensor<4xi64> {
  %a = hone.constant dense<[7, -7, 7, -7]> : tensor<4xi64>
  %b = hone.constant dense<[2, 2, -2, -2]> : tensor<4xi64>
  %r = hone.div %a, %b : tensor<4xi64>
  return %r : tensor<4xi64>
}

// CHECK-LABEL: @wide_integers
// CHECK-NEXT: result 0: tensor<1xi32> = [-1073741824]{{$}}
func.func @wide_integers() -> tensor<1xi32> {
  %a = hone.constant dense<[-2147483648]> : tensor<1xi32>
  %b = hone.constant dense<[2]> : tensor<1xi32>
  %r = hone.div %a, %b : tensor<1xi32>
  return %r : tensor<1xi32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.div %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
