// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @odd_shape
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}1, -1, 3]]{{$}}
func.func @odd_shape() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[1.0, -2.0, 3.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[0.5, -1.0, 3.0]]> : tensor<1x3xf32>
  %r = hone.max %a, %b : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @nan_wins
// CHECK-NEXT: result 0: tensor<3xf32> = [nan, nan, nan]{{$}}
func.func @nan_wins() -> tensor<3xf32> {
  %a = hone.constant dense<[0x7FC00000, 1.0, 0x7FC00000]> : tensor<3xf32>
  %b = hone.constant dense<[1.0, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>
  %r = hone.max %a, %b : tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @positive_zero_is_larger
// CHECK-NEXT: result 0: tensor<2xf32> = [0, 0]{{$}}
func.func @positive_zero_is_larger() -> tensor<2xf32> {
  %a = hone.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %b = hone.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %r = hone.max %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @infinities
// CHECK-NEXT: result 0: tensor<2xf32> = [1, inf]{{$}}
func.func @infinities() -> tensor<2xf32> {
  %a = hone.constant dense<[0xFF800000, 0x7F800000]> : tensor<2xf32>
  %b = hone.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %r = hone.max %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<2xi8> = [127, 5]{{$}}
func.func @integers() -> tensor<2xi8> {
  %a = hone.constant dense<[-128, 5]> : tensor<2xi8>
  %b = hone.constant dense<[127, -5]> : tensor<2xi8>
  %r = hone.max %a, %b : tensor<2xi8>
  return %r : tensor<2xi8>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @empty() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<> : tensor<0xf32>
  %r = hone.max %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
