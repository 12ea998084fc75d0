// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rows
// CHECK-NEXT: result 0: tensor<2xi64> = [1, 0]{{$}}
func.func @rows() -> tensor<2xi64> {
  %a = hone.constant dense<[[1.0, 3.0, 2.0], [5.0, -1.0, 4.0]]> : tensor<2x3xf32>
  %r = hone.argmax %a dim 1 : tensor<2x3xf32> -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @columns
// CHECK-NEXT: result 0: tensor<3xi32> = [1, 0, 1]{{$}}
func.func @columns() -> tensor<3xi32> {
  %a = hone.constant dense<[[1, 9, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %r = hone.argmax %a dim 0 : tensor<2x3xi64> -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// CHECK-LABEL: @first_of_a_tie
// CHECK-NEXT: result 0: tensor<i64> = 1{{$}}
func.func @first_of_a_tie() -> tensor<i64> {
  %a = hone.constant dense<[1.0, 7.0, 7.0, 7.0]> : tensor<4xf32>
  %r = hone.argmax %a dim 0 : tensor<4xf32> -> tensor<i64>
  return %r : tensor<i64>
}

// CHECK-LABEL: @zeros_tie
// CHECK-NEXT: result 0: tensor<i64> = 0{{$}}
func.func @zeros_tie() -> tensor<i64> {
  %a = hone.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %r = hone.argmax %a dim 0 : tensor<2xf32> -> tensor<i64>
  return %r : tensor<i64>
}

// CHECK-LABEL: @first_nan_wins
// CHECK-NEXT: result 0: tensor<i64> = 1{{$}}
func.func @first_nan_wins() -> tensor<i64> {
  %a = hone.constant dense<[1.0, 0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %r = hone.argmax %a dim 0 : tensor<4xf32> -> tensor<i64>
  return %r : tensor<i64>
}

// CHECK-LABEL: @all_minus_infinity
// CHECK-NEXT: result 0: tensor<i64> = 0{{$}}
func.func @all_minus_infinity() -> tensor<i64> {
  %a = hone.constant dense<[0xFF800000, 0xFF800000]> : tensor<2xf32>
  %r = hone.argmax %a dim 0 : tensor<2xf32> -> tensor<i64>
  return %r : tensor<i64>
}

// CHECK-LABEL: @one_element
// CHECK-NEXT: result 0: tensor<1xi64> = [0]{{$}}
func.func @one_element() -> tensor<1xi64> {
  %a = hone.constant dense<[[0x7FC00000]]> : tensor<1x1xf32>
  %r = hone.argmax %a dim 1 : tensor<1x1xf32> -> tensor<1xi64>
  return %r : tensor<1xi64>
}
