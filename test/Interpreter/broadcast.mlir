// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<2x3xi64> = {{\[\[}}1, 2, 3], [1, 2, 3]]{{$}}
func.func @rows() -> tensor<2x3xi64> {
  %a = hone.constant dense<[1, 2, 3]> : tensor<3xi64>
  %r = hone.broadcast %a dims [1] : tensor<3xi64> -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @columns
// CHECK-NEXT: result 0: tensor<2x3xi64> = {{\[\[}}1, 1, 1], [2, 2, 2]]{{$}}
func.func @columns() -> tensor<2x3xi64> {
  %a = hone.constant dense<[1, 2]> : tensor<2xi64>
  %r = hone.broadcast %a dims [0] : tensor<2xi64> -> tensor<2x3xi64>
  return %r : tensor<2x3xi64>
}

// CHECK-LABEL: @inner
// CHECK-NEXT: result 0: tensor<2x3x2xf32> = {{\[\[\[}}1, 2], [1, 2], [1, 2]], {{\[\[}}3, 4], [3, 4], [3, 4]]]{{$}}
func.func @inner() -> tensor<2x3x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %r = hone.broadcast %a dims [0, 2] : tensor<2x2xf32> -> tensor<2x3x2xf32>
  return %r : tensor<2x3x2xf32>
}

// CHECK-LABEL: @scalar
// CHECK-NEXT: result 0: tensor<3xf32> = [1.5, 1.5, 1.5]{{$}}
func.func @scalar() -> tensor<3xf32> {
  %a = hone.constant dense<1.5> : tensor<f32>
  %r = hone.broadcast %a dims [] : tensor<f32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: @to_empty
// CHECK-NEXT: result 0: tensor<0x3xf32> = []{{$}}
func.func @to_empty() -> tensor<0x3xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %r = hone.broadcast %a dims [1] : tensor<3xf32> -> tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
