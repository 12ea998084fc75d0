// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @two_heads_per_key_head
// CHECK-NEXT: result 0: tensor<1x2x4x1xf32> = {{\[\[}}{{\[\[}}0], [0], [0], [0]], {{\[\[}}0.094788976], [-0.66352284], [0.101428583], [0.381241351]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x2x1xf32> = {{\[\[}}{{\[\[}}-0.227493554], [-0.00978920236]], {{\[\[}}0.227493554], [0.00978917163]]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x2x2x1xf32> = {{\[\[}}{{\[\[}}4.18718863], [-0.822015822]], {{\[\[}}0.312811196], [-1.42798412]]]]{{$}}
func.func @two_heads_per_key_head() -> (tensor<1x2x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) {
  %a = hone.constant dense<[[[[1.25], [1.75], [2.0], [-1.5]], [[-0.25], [1.75], [-0.75], [-2.0]]]]> : tensor<1x2x4x1xf32>
  %b = hone.constant dense<[[[[-1.75], [0.0], [-0.25], [1.5]], [[0.75], [-0.75], [-2.0], [0.5]]]]> : tensor<1x2x4x1xf32>
  %c = hone.constant dense<[[[[-1.0], [0.75]], [[1.5], [-0.5]]]]> : tensor<1x2x2x1xf32>
  %d = hone.constant dense<[[[[1.75], [0.0]], [[0.25], [1.25]]]]> : tensor<1x2x2x1xf32>
  %e = hone.constant dense<[[[[1.75], [1.75], [0.0], [0.0]], [[0.672108412], [1.32789159], [0.971624851], [0.52813077]]]]> : tensor<1x2x4x1xf32>
  %f = hone.constant dense<[[[0.875, 0.892958224], [0.0, 0.705458224], [-0.09375, 0.751929104], [0.5625, 0.736554861]]]> : tensor<1x4x2xf32>
  %dq, %dk, %dv = hone.attention_bwd %a, %b, %c, %d, %e, %f causal scale 0.5
      : (tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x4x1xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x2x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>)
  return %dq, %dk, %dv : tensor<1x2x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>
}
