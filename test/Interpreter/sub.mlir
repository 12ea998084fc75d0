// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<3x1xf32> = {{\[\[}}-2], [0], [2]]{{$}}
func.func @odd_shape() -> tensor<3x1xf32> {
  %a = hone.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %b = hone.constant dense<[[3.0], [2.0], [1.0]]> : tensor<3x1xf32>
  %r = hone.sub %a, %b : tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// CHECK-LABEL: @special
// CHECK-NEXT: result 0: tensor<2xf32> = [nan, nan]{{$}}
func.func @special() -> tensor<2xf32> {
  %a = hone.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %b = hone.constant dense<[0x7F800000, 0.0]> : tensor<2xf32>
  %r = hone.sub %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @integers_wrap
// CHECK-NEXT: result 0: tensor<1xi8> = [127]{{$}}
func.func @integers_wrap() -> tensor<1xi8> {
  %a = hone.constant dense<[-128]> : tensor<1xi8>
  %b = hone.constant dense<[1]> : tensor<1xi8>
  %r = hone.sub %a, %b : tensor<1xi8>
  return %r : tensor<1xi8>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.sub %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
