// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<2x2x2xf32> = {{\[\[\[}}5, 6], [1, 2]], {{\[\[}}3, 4], [5, 6]]]{{$}}
func.func @rows() -> tensor<2x2x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = hone.constant dense<[[2, 0], [1, 2]]> : tensor<2x2xi64>
  %r = hone.embedding %a, %b : tensor<3x2xf32>, tensor<2x2xi64> -> tensor<2x2x2xf32>
  return %r : tensor<2x2x2xf32>
}

// CHECK-LABEL: @one_id
// CHECK-NEXT: result 0: tensor<2xf32> = [3, 4]{{$}}
func.func @one_id() -> tensor<2xf32> {
  %a = hone.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = hone.constant dense<1> : tensor<i32>
  %r = hone.embedding %a, %b : tensor<3x2xf32>, tensor<i32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @no_id
// CHECK-NEXT: result 0: tensor<0x2xf32> = []{{$}}
func.func @no_id() -> tensor<0x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = hone.constant dense<> : tensor<0xi64>
  %r = hone.embedding %a, %b : tensor<3x2xf32>, tensor<0xi64> -> tensor<0x2xf32>
  return %r : tensor<0x2xf32>
}
