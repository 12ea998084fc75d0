// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @plain
// CHECK-NEXT: result 0: tensor<1x2x1x1xf32> = {{\[\[}}{{\[\[}}0.652840793]], {{\[\[}}-0.478673905]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x1x2xf32> = {{\[\[\[}}1.63824403, 1.41386187]]]{{$}}
func.func @plain() -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %a = hone.constant dense<[[[[2.0, 0.5]], [[0.75, 1.75]]]]> : tensor<1x2x1x2xf32>
  %b = hone.constant dense<[[[[0.25, 1.25]], [[1.5, -1.25]], [[-2.0, -0.75]]]]> : tensor<1x3x1x2xf32>
  %c = hone.constant dense<[[[[-1.0]], [[1.5]], [[1.75]]]]> : tensor<1x3x1x1xf32>
  %o, %l = hone.attention %a, %b, %c scale 0.5
      : (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>)
      -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>)
  return %o, %l : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}

// CHECK-LABEL: @causal
// CHECK-NEXT: result 0: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}-1, 2]], {{\[\[}}-0.425279766, 0.46741271]], {{\[\[}}-0.361506164, 0.434810191]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x1x3xf32> = {{\[\[\[}}0.25, 0.359939843, 0.522407949]]]{{$}}
func.func @causal() -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>) {
  %a = hone.constant dense<[[[[-2.0, 0.0]], [[1.25, -1.5]], [[1.25, -1.5]]]]> : tensor<1x3x1x2xf32>
  %b = hone.constant dense<[[[[-0.25, 1.25]], [[-0.75, -0.75]], [[-1.0, 1.0]]]]> : tensor<1x3x1x2xf32>
  %c = hone.constant dense<[[[[-1.0, 2.0]], [[-0.25, 0.0]], [[0.0, 0.25]]]]> : tensor<1x3x1x2xf32>
  %o, %l = hone.attention %a, %b, %c causal scale 0.5
      : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>)
      -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
  return %o, %l : tensor<1x3x1x2xf32>, tensor<1x1x3xf32>
}

// CHECK-LABEL: @one_position
// CHECK-NEXT: result 0: tensor<2x1x1x1xf32> = {{\[\[}}{{\[\[}}1.25]]], {{\[\[\[}}0.75]]]]{{$}}
// CHECK-NEXT: result 1: tensor<2x1x1xf32> = {{\[\[\[}}0.25]], {{\[\[}}0]]]{{$}}
func.func @one_position() -> (tensor<2x1x1x1xf32>, tensor<2x1x1xf32>) {
  %a = hone.constant dense<[[[[0.25]]], [[[0.0]]]]> : tensor<2x1x1x1xf32>
  %b = hone.constant dense<[[[[2.0]]], [[[1.25]]]]> : tensor<2x1x1x1xf32>
  %c = hone.constant dense<[[[[1.25]]], [[[0.75]]]]> : tensor<2x1x1x1xf32>
  %o, %l = hone.attention %a, %b, %c scale 0.5
      : (tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>)
      -> (tensor<2x1x1x1xf32>, tensor<2x1x1xf32>)
  return %o, %l : tensor<2x1x1x1xf32>, tensor<2x1x1xf32>
}
