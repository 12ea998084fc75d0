// RUN: hone-run --eval %s | FileCheck %s

// NaN differs from everything; the zeros are equal.
// CHECK-LABEL: @floats
// CHECK-NEXT: result 0: tensor<4xi1> = [false, true, false, true]{{$}}
// CHECK-NEXT: result 1: tensor<4xi1> = [true, false, true, false]{{$}}
// CHECK-NEXT: result 2: tensor<4xi1> = [true, false, false, false]{{$}}
// CHECK-NEXT: result 3: tensor<4xi1> = [true, true, false, true]{{$}}
// CHECK-NEXT: result 4: tensor<4xi1> = [false, false, false, false]{{$}}
// CHECK-NEXT: result 5: tensor<4xi1> = [false, true, false, true]{{$}}
func.func @floats() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = hone.constant dense<[1.0, 2.0, 0x7FC00000, -0.0]> : tensor<4xf32>
  %b = hone.constant dense<[2.0, 2.0, 1.0, 0.0]> : tensor<4xf32>
  %eq = hone.cmp eq, %a, %b : tensor<4xf32> -> tensor<4xi1>
  %ne = hone.cmp ne, %a, %b : tensor<4xf32> -> tensor<4xi1>
  %lt = hone.cmp lt, %a, %b : tensor<4xf32> -> tensor<4xi1>
  %le = hone.cmp le, %a, %b : tensor<4xf32> -> tensor<4xi1>
  %gt = hone.cmp gt, %a, %b : tensor<4xf32> -> tensor<4xi1>
  %ge = hone.cmp ge, %a, %b : tensor<4xf32> -> tensor<4xi1>
  return %eq, %ne, %lt, %le, %gt, %ge : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @integers_are_signed
// CHECK-NEXT: result 0: tensor<2xi1> = [true, false]{{$}}
func.func @integers_are_signed() -> tensor<2xi1> {
  %a = hone.constant dense<[-1, 127]> : tensor<2xi8>
  %b = hone.constant dense<[1, -128]> : tensor<2xi8>
  %r = hone.cmp lt, %a, %b : tensor<2xi8> -> tensor<2xi1>
  return %r : tensor<2xi1>
}

// CHECK-LABEL: @false_is_less_than_true
// CHECK-NEXT: result 0: tensor<2xi1> = [true, false]{{$}}
func.func @false_is_less_than_true() -> tensor<2xi1> {
  %a = hone.constant dense<[false, true]> : tensor<2xi1>
  %b = hone.constant dense<[true, false]> : tensor<2xi1>
  %r = hone.cmp lt, %a, %b : tensor<2xi1> -> tensor<2xi1>
  return %r : tensor<2xi1>
}
