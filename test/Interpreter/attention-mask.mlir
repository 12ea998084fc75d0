// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @added_per_head
// CHECK-NEXT: result 0: tensor<1x2x2x1xf32> = {{\[\[}}{{\[\[}}0.0366188139], [-0.00835429598]], {{\[\[}}0.941283822], [-0.0081393579]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x2xf32> = {{\[\[\[}}1.17532229, 2.36753178], [0.893688798, 1.48597383]]]{{$}}
func.func @added_per_head() -> (tensor<1x2x2x1xf32>, tensor<1x2x2xf32>) {
  %a = hone.constant dense<[[[[-1.25, 1.0], [-0.5, 0.0]], [[-2.0, 0.5], [1.5, 0.75]]]]> : tensor<1x2x2x2xf32>
  %b = hone.constant dense<[[[[-1.5, 0.25], [-1.0, 2.0]], [[1.5, -1.25], [0.0, 1.75]], [[1.5, 1.0], [0.5, -2.0]]]]> : tensor<1x3x2x2xf32>
  %c = hone.constant dense<[[[[1.0], [0.0]], [[-1.75], [-1.0]], [[0.25], [1.0]]]]> : tensor<1x3x2x1xf32>
  %d = hone.constant dense<[[[[0xFF800000, 0.5, 1.5], [0.75, -0.5, 0.5]], [[0.5, -1.75, -1.75], [0.75, -0.5, 0.5]]]]> : tensor<1x2x2x3xf32>
  %o, %l = hone.attention %a, %b, %c mask %d scale 0.5
      : (tensor<1x2x2x2xf32>, tensor<1x3x2x2xf32>, tensor<1x3x2x1xf32>, tensor<1x2x2x3xf32>)
      -> (tensor<1x2x2x1xf32>, tensor<1x2x2xf32>)
  return %o, %l : tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
}

// A row that is masked throughout is 0, its log-sum-exp inf.
// CHECK-LABEL: @with_causal
// CHECK-NEXT: result 0: tensor<1x2x2x1xf32> = {{\[\[}}{{\[\[}}0], [0.5]], {{\[\[}}0.0783676207], [0.0957625881]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x2xf32> = {{\[\[\[}}inf, 2.95093942], [-2.875, -0.0381791592]]]{{$}}
func.func @with_causal() -> (tensor<1x2x2x1xf32>, tensor<1x2x2xf32>) {
  %a = hone.constant dense<[[[[-0.75, -1.25], [-1.5, -0.5]], [[1.25, -0.5], [-0.5, 0.25]]]]> : tensor<1x2x2x2xf32>
  %b = hone.constant dense<[[[[2.0, -0.5]], [[0.5, -0.25]]]]> : tensor<1x2x1x2xf32>
  %c = hone.constant dense<[[[[0.5]], [[-0.25]]]]> : tensor<1x2x1x1xf32>
  %d = hone.constant dense<[[[[0xFF800000, 0.25], [0.75, 2.0]], [[-1.5, 0.25], [-0.25, -0.5]]]]> : tensor<1x2x2x2xf32>
  %o, %l = hone.attention %a, %b, %c mask %d causal scale 0.5
      : (tensor<1x2x2x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x1xf32>, tensor<1x2x2x2xf32>)
      -> (tensor<1x2x2x1xf32>, tensor<1x2x2xf32>)
  return %o, %l : tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
}
