// RUN: hone-run --eval %s | FileCheck %s

// Two documents of two positions, with ids in no order; two query heads to a key head. Numbers are those of PyTorch's
// scaled_dot_product_attention with the mask of equal ids and earlier positions, and of its gradient.
// CHECK-LABEL: @segments
// CHECK-NEXT: result 0: tensor<1x4x2x1xf32> = {{\[\[}}{{\[\[}}1.75], [1.75]], {{\[\[}}0.43316{{[0-9]*}}], [0.04609{{[0-9]*}}]], {{\[\[}}0.5], [0.5]], {{\[\[}}0.201992{{[0-9]*}}], [-0.17235{{[0-9]*}}]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x4xf32> = {{\[\[\[}}-0.625, 0.699166{{[0-9]*}}, -1.125, 1.62692{{[0-9]*}}], [0.25, 0.910224{{[0-9]*}}, 0.1875, 1.063261{{[0-9]*}}]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x4x2x1xf32> = {{\[\[}}{{\[\[}}0], [0]], {{\[\[}}0.393581{{[0-9]*}}], [-0.441452{{[0-9]*}}]], {{\[\[}}0], [0]], {{\[\[}}0.262483{{[0-9]*}}], [-0.245764{{[0-9]*}}]]]]{{$}}
// CHECK-NEXT: result 3: tensor<1x4x1x1xf32> = {{\[\[}}{{\[\[}}0.335838{{[0-9]*}}]], {{\[\[}}-0.33583{{[0-9]*}}]], {{\[\[}}0.139601{{[0-9]*}}]], {{\[\[}}-0.139601{{[0-9]*}}]]]]{{$}}
// CHECK-NEXT: result 4: tensor<1x4x1x1xf32> = {{\[\[}}{{\[\[}}1.454511{{[0-9]*}}]], {{\[\[}}1.045488{{[0-9]*}}]], {{\[\[}}2.265267{{[0-9]*}}]], {{\[\[}}-0.015267{{[0-9]*}}]]]]{{$}}
func.func @segments() -> (tensor<1x4x2x1xf32>, tensor<1x2x4xf32>, tensor<1x4x2x1xf32>, tensor<1x4x1x1xf32>,
                          tensor<1x4x1x1xf32>) {
  %q = hone.constant dense<[[[[1.25], [-0.5]], [[0.75], [2.0]], [[-1.5], [0.25]], [[2.0], [1.0]]]]> : tensor<1x4x2x1xf32>
  %k = hone.constant dense<[[[[-1.0]], [[0.75]], [[1.5]], [[-0.5]]]]> : tensor<1x4x1x1xf32>
  %v = hone.constant dense<[[[[1.75]], [[-0.25]], [[0.5]], [[-2.0]]]]> : tensor<1x4x1x1xf32>
  %g = hone.constant dense<[[[[1.0], [0.5]], [[-1.0], [2.0]], [[0.25], [1.5]], [[1.0], [-0.5]]]]> : tensor<1x4x2x1xf32>
  %ids = hone.constant dense<[[4, 4, -1, -1]]> : tensor<1x4xi64>
  %o, %l = hone.attention %q, %k, %v mask %ids causal scale 0.5
      : (tensor<1x4x2x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4xi64>)
      -> (tensor<1x4x2x1xf32>, tensor<1x2x4xf32>)
  %dq, %dk, %dv = hone.attention_bwd %g, %q, %k, %v, %o, %l mask %ids causal scale 0.5
      : (tensor<1x4x2x1xf32>, tensor<1x4x2x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x2x1xf32>,
         tensor<1x2x4xf32>, tensor<1x4xi64>) -> (tensor<1x4x2x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>)
  return %o, %l, %dq, %dk, %dv : tensor<1x4x2x1xf32>, tensor<1x2x4xf32>, tensor<1x4x2x1xf32>, tensor<1x4x1x1xf32>,
                                 tensor<1x4x1x1xf32>
}
