// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @plain
// CHECK-NEXT: result 0: tensor<1x2x1x2xf32> = {{\[\[}}{{\[\[}}0.0154662887, 0.117497467]], {{\[\[}}-0.095170036, 0.137469053]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}-0.257139444, -0.238208234]], {{\[\[}}0.0950119719, 0.0535133183]], {{\[\[}}0.162127405, 0.184694871]]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x3x1x1xf32> = {{\[\[}}{{\[\[}}-0.328277886]], {{\[\[}}0.404287398]], {{\[\[}}-1.07600963]]]]{{$}}
func.func @plain() -> (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>) {
  %a = hone.constant dense<[[[[1.0]], [[-2.0]]]]> : tensor<1x2x1x1xf32>
  %b = hone.constant dense<[[[[-1.25, -0.5]], [[1.75, 2.0]]]]> : tensor<1x2x1x2xf32>
  %c = hone.constant dense<[[[[0.5, 0.25]], [[0.25, -1.75]], [[-0.5, 2.0]]]]> : tensor<1x3x1x2xf32>
  %d = hone.constant dense<[[[[-0.5]], [[-1.25]], [[-1.0]]]]> : tensor<1x3x1x1xf32>
  %e = hone.constant dense<[[[[-0.995618463]], [[-0.865203857]]]]> : tensor<1x2x1x1xf32>
  %f = hone.constant dense<[[[1.04419243, 1.94243777]]]> : tensor<1x1x2xf32>
  %dq, %dk, %dv = hone.attention_bwd %a, %b, %c, %d, %e, %f scale 0.5
      : (tensor<1x2x1x1xf32>, tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x1x2xf32>)
      -> (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>)
  return %dq, %dk, %dv : tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>
}

// CHECK-LABEL: @causal
// CHECK-NEXT: result 0: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}0, 0]], {{\[\[}}0.0480730645, -0.336511433]], {{\[\[}}-0.0882576257, 0.0359933488]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}-0.0378971025, -0.0695656016]], {{\[\[}}-0.000254383864, 0.0600277372]], {{\[\[}}0.0381514765, 0.00953786913]]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}-0.819378257, 2.31802464]], {{\[\[}}-0.311028153, 0.214576885]], {{\[\[}}0.13040638, -0.0326015949]]]]{{$}}
func.func @causal() -> (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) {
  %a = hone.constant dense<[[[[-0.25, 2.0]], [[-1.75, 0.75]], [[1.0, -0.25]]]]> : tensor<1x3x1x2xf32>
  %b = hone.constant dense<[[[[2.0, 1.5]], [[0.25, -0.25]], [[1.0, 0.25]]]]> : tensor<1x3x1x2xf32>
  %c = hone.constant dense<[[[[0.0, -0.75]], [[-0.25, 1.0]], [[-2.0, -2.0]]]]> : tensor<1x3x1x2xf32>
  %d = hone.constant dense<[[[[1.0, -0.5]], [[1.25, -2.0]], [[1.75, -1.5]]]]> : tensor<1x3x1x2xf32>
  %e = hone.constant dense<[[[[1.0, -0.5]], [[1.10945582, -1.1567353]], [[1.21159554, -1.31315088]]]]> : tensor<1x3x1x2xf32>
  %f = hone.constant dense<[[[-0.5625, 0.669689417, 0.787099719]]]> : tensor<1x1x3xf32>
  %dq, %dk, %dv = hone.attention_bwd %a, %b, %c, %d, %e, %f causal scale 0.5
      : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
      -> (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>)
  return %dq, %dk, %dv : tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>
}
