// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @two_heads_per_key_head
// CHECK-NEXT: result 0: tensor<1x2x4x1xf32> = {{\[\[}}{{\[\[}}-1.3027097], [-0.562811196], [1.36151063], [0.086416468]], {{\[\[}}-0.346576422], [-1.73407149], [-0.642202437], [1.1422025]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x4x2xf32> = {{\[\[\[}}0.553700686, 1.44029915], [1.08045816, 0.517675042], [-0.0485867225, 1.5936501], [0.822535276, 0.0936501399]]]{{$}}
func.func @two_heads_per_key_head() -> (tensor<1x2x4x1xf32>, tensor<1x4x2xf32>) {
  %a = hone.constant dense<[[[[0.5], [-0.75], [2.0], [-0.25]], [[-1.25], [1.5], [-1.5], [1.5]]]]> : tensor<1x2x4x1xf32>
  %b = hone.constant dense<[[[[0.5], [-1.75]], [[-2.0], [-0.25]]]]> : tensor<1x2x2x1xf32>
  %c = hone.constant dense<[[[[-2.0], [-1.5]], [[0.0], [2.0]]]]> : tensor<1x2x2x1xf32>
  %o, %l = hone.attention %a, %b, %c scale 0.5
      : (tensor<1x2x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>)
      -> (tensor<1x2x4x1xf32>, tensor<1x4x2xf32>)
  return %o, %l : tensor<1x2x4x1xf32>, tensor<1x4x2xf32>
}

// CHECK-LABEL: @one_key_head
// CHECK-NEXT: result 0: tensor<1x2x3x1xf32> = {{\[\[}}{{\[\[}}0.75], [0.75], [0.75]], {{\[\[}}0.84972316], [0.961054206], [1.47518551]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3x2xf32> = {{\[\[\[}}-0.84375, 1.01767504], [-2.84375, 0.767958224], [-0.28125, 2.65864563]]]{{$}}
func.func @one_key_head() -> (tensor<1x2x3x1xf32>, tensor<1x3x2xf32>) {
  %a = hone.constant dense<[[[[-0.25, 1.25], [1.75, 1.25], [0.5, -0.25]], [[0.0, -1.0], [0.0, -0.5], [-1.0, 2.0]]]]> : tensor<1x2x3x2xf32>
  %b = hone.constant dense<[[[[-2.0, -1.75]], [[-1.25, 2.0]]]]> : tensor<1x2x1x2xf32>
  %c = hone.constant dense<[[[[0.75]], [[1.5]]]]> : tensor<1x2x1x1xf32>
  %o, %l = hone.attention %a, %b, %c causal scale 0.5
      : (tensor<1x2x3x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x1xf32>)
      -> (tensor<1x2x3x1xf32>, tensor<1x3x2xf32>)
  return %o, %l : tensor<1x2x3x1xf32>, tensor<1x3x2xf32>
}
