// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<3x1xf32> = {{\[\[}}1.5], [2], [0]]{{$}}
func.func @odd_shape() -> tensor<3x1xf32> {
  %a = hone.constant dense<[[-1.5], [2.0], [-0.0]]> : tensor<3x1xf32>
  %r = hone.abs %a : tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<3xf32> = [inf, inf, nan]{{$}}
func.func @special() -> tensor<3xf32> {
  %a = hone.constant dense<[0xFF800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %r = hone.abs %a : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<3xi32> = [4, 0, 4]{{$}}
func.func @integers() -> tensor<3xi32> {
  %a = hone.constant dense<[-4, 0, 4]> : tensor<3xi32>
  %r = hone.abs %a : tensor<3xi32>
  return %r : tensor<3xi32>
}

// CHECK-LABEL: @least_integer_wraps
// CHECK-NEXT: result 0: tensor<1xi8> = [-128]{{$}}
func.func @least_integer_wraps() -> tensor<1xi8> {
  %a = hone.constant dense<[-128]> : tensor<1xi8>
  %r = hone.abs %a : tensor<1xi8>
  return %r : tensor<1xi8>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<> : tensor<0x3xf32>
  %r = hone.abs %a : tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
