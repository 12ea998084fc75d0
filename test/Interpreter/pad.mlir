// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @edges
// CHECK-NEXT: result 0: tensor<3x3xi64> = {{\[\[}}0, 0, 0], [1, 0, 0], [2, 0, 0]]{{$}}
func.func @edges() -> tensor<3x3xi64> {
  %a = hone.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %r = hone.pad %a low [1, 0] high [0, 2] interior [0, 0] : tensor<2x1xi64> -> tensor<3x3xi64>
  return %r : tensor<3x3xi64>
}

// CHECK-LABEL: @interior
// CHECK-NEXT: result 0: tensor<8xf32> = [0, 1, 0, 0, 2, 0, 0, 3]{{$}}
func.func @interior() -> tensor<8xf32> {
  %a = hone.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %r = hone.pad %a low [1] high [0] interior [2] : tensor<3xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @empty
// CHECK-NEXT: result 0: tensor<2xf32> = [0, 0]{{$}}
func.func @empty() -> tensor<2xf32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %r = hone.pad %a low [1] high [1] interior [5] : tensor<0xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: @booleans
// CHECK-NEXT: result 0: tensor<3xi1> = [false, true, false]{{$}}
func.func @booleans() -> tensor<3xi1> {
  %a = hone.constant dense<[true]> : tensor<1xi1>
  %r = hone.pad %a low [1] high [1] interior [0] : tensor<1xi1> -> tensor<3xi1>
  return %r : tensor<3xi1>
}
