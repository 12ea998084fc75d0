// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @line
// CHECK-NEXT: result 0: tensor<1x3x2xf32> = {{\[\[\[}}21, 2], [32, 3], [43, 4]]]{{$}}
func.func @line() -> tensor<1x3x2xf32> {
  %a = hone.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %w = hone.constant dense<[[[1.0, 0.0]], [[10.0, 1.0]]]> : tensor<2x1x2xf32>
  %y = hone.conv %a, %w strides [1] low [0] high [0] dilations [1] : tensor<1x4x1xf32>, tensor<2x1x2xf32> -> tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

// CHECK-LABEL: @strided_padded_dilated
// CHECK-NEXT: result 0: tensor<1x3x1xf32> = {{\[\[\[}}10], [31], [3]]]{{$}}
func.func @strided_padded_dilated() -> tensor<1x3x1xf32> {
  %a = hone.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %w = hone.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %y = hone.conv %a, %w strides [2] low [2] high [1] dilations [2] : tensor<1x4x1xf32>, tensor<2x1x1xf32> -> tensor<1x3x1xf32>
  return %y : tensor<1x3x1xf32>
}

// CHECK-LABEL: @groups
// CHECK-NEXT: result 0: tensor<1x1x4xf32> = {{\[\[\[}}5, 50, 1100, 11000]]]{{$}}
func.func @groups() -> tensor<1x1x4xf32> {
  %a = hone.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %w = hone.constant dense<[[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0]]]> : tensor<1x2x4xf32>
  %y = hone.conv %a, %w strides [1] low [0] high [0] dilations [1] : tensor<1x1x4xf32>, tensor<1x2x4xf32> -> tensor<1x1x4xf32>
  return %y : tensor<1x1x4xf32>
}
