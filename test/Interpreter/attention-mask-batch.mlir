// RUN: hone-run --eval %s | FileCheck %s

// Heads share it.
// CHECK-LABEL: @one_mask_per_batch
// CHECK-NEXT: result 0: tensor<2x1x2x1xf32> = {{\[\[}}{{\[\[}}0.288297713], [0.260547727]]], {{\[\[\[}}-0.545920253], [1.20745051]]]]{{$}}
// CHECK-NEXT: result 1: tensor<2x2x1xf32> = {{\[\[\[}}0.968158841], [1.76416349]], {{\[\[}}-0.0870873481], [1.33893943]]]{{$}}
func.func @one_mask_per_batch() -> (tensor<2x1x2x1xf32>, tensor<2x2x1xf32>) {
  %a = hone.constant dense<[[[[-0.25], [2.0]]], [[[1.5], [-0.5]]]]> : tensor<2x1x2x1xf32>
  %b = hone.constant dense<[[[[-0.5], [1.0]], [[1.75], [-1.75]]], [[[-1.75], [-1.0]], [[-0.25], [-1.5]]]]> : tensor<2x2x2x1xf32>
  %c = hone.constant dense<[[[[0.0], [0.25]], [[2.0], [1.0]]], [[[-1.0], [1.25]], [[1.25], [0.75]]]]> : tensor<2x2x2x1xf32>
  %d = hone.constant dense<[[[[0.75, -0.75]]], [[[1.0, -1.5]]]]> : tensor<2x1x1x2xf32>
  %o, %l = hone.attention %a, %b, %c mask %d scale 0.5
      : (tensor<2x1x2x1xf32>, tensor<2x2x2x1xf32>, tensor<2x2x2x1xf32>, tensor<2x1x1x2xf32>)
      -> (tensor<2x1x2x1xf32>, tensor<2x2x1xf32>)
  return %o, %l : tensor<2x1x2x1xf32>, tensor<2x2x1xf32>
}
