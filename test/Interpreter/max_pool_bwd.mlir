// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @meeting
// CHECK-NEXT: result 0: tensor<1x4x1xf32> = {{\[\[\[}}0], [11], [0], [0]]]{{$}}
func.func @meeting() -> tensor<1x4x1xf32> {
  %g = hone.constant dense<[[[1.0], [10.0]]]> : tensor<1x2x1xf32>
  %t = hone.constant dense<[[[1], [0]]]> : tensor<1x2x1xi32>
  %x = hone.max_pool_bwd %g, %t sizes [3] strides [1] low [0] high [0] dilations [1] : tensor<1x2x1xf32>, tensor<1x2x1xi32> -> tensor<1x4x1xf32>
  return %x : tensor<1x4x1xf32>
}
