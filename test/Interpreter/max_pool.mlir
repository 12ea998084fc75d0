// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @overlapping
// CHECK-NEXT: result 0: tensor<1x2x1xf32> = {{\[\[\[}}5], [nan]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x1xi32> = {{\[\[\[}}1], [2]]]{{$}}
func.func @overlapping() -> (tensor<1x2x1xf32>, tensor<1x2x1xi32>) {
  %a = hone.constant dense<[[[1.0], [5.0], [5.0], [0x7FC00000]]]> : tensor<1x4x1xf32>
  %y, %t = hone.max_pool %a sizes [3] strides [1] low [0] high [0] dilations [1] : tensor<1x4x1xf32> -> tensor<1x2x1xf32>, tensor<1x2x1xi32>
  return %y, %t : tensor<1x2x1xf32>, tensor<1x2x1xi32>
}

// CHECK-LABEL: @padding_takes_no_part
// CHECK-NEXT: result 0: tensor<1x2x1xf32> = {{\[\[\[}}-3], [-3]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x1xi32> = {{\[\[\[}}1], [0]]]{{$}}
func.func @padding_takes_no_part() -> (tensor<1x2x1xf32>, tensor<1x2x1xi32>) {
  %a = hone.constant dense<-3.0> : tensor<1x2x1xf32>
  %y, %t = hone.max_pool %a sizes [2] strides [2] low [1] high [1] dilations [1] : tensor<1x2x1xf32> -> tensor<1x2x1xf32>, tensor<1x2x1xi32>
  return %y, %t : tensor<1x2x1xf32>, tensor<1x2x1xi32>
}
