// RUN: hone-run --eval %s | FileCheck %s

// A NaN that is not chosen leaves no trace.
// CHECK-LABEL: @floats
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}1, 6], [7, 4]]{{$}}
func.func @floats() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  %b = hone.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = hone.constant dense<[[5.0, 6.0], [7.0, 0x7FC00000]]> : tensor<2x2xf32>
  %r = hone.select %a, %b, %c : tensor<2x2xi1>, tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @integers
// CHECK-NEXT: result 0: tensor<3xi64> = [1, -2, 3]{{$}}
func.func @integers() -> tensor<3xi64> {
  %a = hone.constant dense<[true, false, true]> : tensor<3xi1>
  %b = hone.constant dense<[1, 2, 3]> : tensor<3xi64>
  %c = hone.constant dense<[-1, -2, -3]> : tensor<3xi64>
  %r = hone.select %a, %b, %c : tensor<3xi1>, tensor<3xi64>
  return %r : tensor<3xi64>
}
