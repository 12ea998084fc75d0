// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<2xf32> = [6, 3]{{$}}
func.func @rows() -> tensor<2xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.reduce sum %a dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @columns
// CHECK-NEXT: result 0: tensor<3xf32> = [5, 7, -3]{{$}}
func.func @columns() -> tensor<3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.reduce sum %a dims [0] : tensor<2x3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @all
// CHECK-NEXT: result 0: tensor<f32> = 9{{$}}
func.func @all() -> tensor<f32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.reduce sum %a dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<2xf32> = [0, 0]{{$}}
func.func @empty() -> tensor<2xf32> {
  %a = hone.constant dense<> : tensor<2x0xf32>
  %r = hone.reduce sum %a dims [1] : tensor<2x0xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @no_rows
// CHECK-NEXT: result 0: tensor<0xf32> = []{{$}}
func.func @no_rows() -> tensor<0xf32> {
  %a = hone.constant dense<> : tensor<0x2xf32>
  %r = hone.reduce sum %a dims [1] : tensor<0x2xf32> -> tensor<0xf32>
  return %r : tensor<0xf32>
}

// CHECK-LABEL: @integers_wrap
// CHECK-NEXT: result 0: tensor<i8> = -55{{$}}
func.func @integers_wrap() -> tensor<i8> {
  %a = hone.constant dense<[100, 100, 1]> : tensor<3xi8>
  %r = hone.reduce sum %a dims [0] : tensor<3xi8> -> tensor<i8>
  return %r : tensor<i8>
}

// CHECK-LABEL: @accumulates_wider_than_single
// CHECK-NEXT: result 0: tensor<f32> = 16777218{{$}}
func.func @accumulates_wider_than_single() -> tensor<f32> {
  %a = hone.constant dense<[16777216.0, 1.0, 1.0]> : tensor<3xf32>
  %r = hone.reduce sum %a dims [0] : tensor<3xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @negative_zero
// CHECK-NEXT: result 0: tensor<f32> = -0{{$}}
func.func @negative_zero() -> tensor<f32> {
  %a = hone.constant dense<[-0.0]> : tensor<1xf32>
  %r = hone.reduce sum %a dims [0] : tensor<1xf32> -> tensor<f32>
  return %r : tensor<f32>
}
