// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @strided
// CHECK-NEXT: result 0: tensor<1x5x1xf32> = {{\[\[\[}}1], [10], [102], [20], [200]]]{{$}}
func.func @strided() -> tensor<1x5x1xf32> {
  %g = hone.constant dense<[[[1.0], [2.0]]]> : tensor<1x2x1xf32>
  %w = hone.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
  %y = hone.conv_bwd_input %g, %w strides [2] low [0] high [0] dilations [1] : tensor<1x2x1xf32>, tensor<3x1x1xf32> -> tensor<1x5x1xf32>
  return %y : tensor<1x5x1xf32>
}
