// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @padded
// CHECK-NEXT: result 0: tensor<2x1x1xf32> = {{\[\[\[}}43210]], {{\[\[}}4321]]]{{$}}
func.func @padded() -> tensor<2x1x1xf32> {
  %a = hone.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %g = hone.constant dense<[[[1.0], [10.0], [100.0], [1000.0], [10000.0]]]> : tensor<1x5x1xf32>
  %y = hone.conv_bwd_weight %a, %g strides [1] low [1] high [1] dilations [1] : tensor<1x4x1xf32>, tensor<1x5x1xf32> -> tensor<2x1x1xf32>
  return %y : tensor<2x1x1xf32>
}
