// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @half
// CHECK-NEXT: result 0: tensor<1x2x2x2xf32> = {{\[\[}}{{\[\[}}-0.214621767, 0.214621767], [0.702997506, -0.574786127]], {{\[\[}}-0.5839836, 0.806005061], [-1.77660322, 1.77660322]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x2xf32> = {{\[\[\[}}3.01249027, 2.04187822], [0.528387189, -0.226090938]]]{{$}}
func.func @half() -> (tensor<1x2x2x2xf32>, tensor<1x2x2xf32>) {
  %a = hone.constant dense<[[[[-1.0, -2.0], [-0.5, 1.5]], [[-1.75, -0.5], [2.0, 2.0]]]]> : tensor<1x2x2x2xf32>
  %b = hone.constant dense<[[[[-1.25, -2.0]], [[0.75, -2.0]], [[-0.75, 0.0]]]]> : tensor<1x3x1x2xf32>
  %c = hone.constant dense<[[[[1.5, -1.75]], [[0.75, 0.25]], [[-1.5, 1.5]]]]> : tensor<1x3x1x2xf32>
  %d = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %a, %b, %c rng %d scale 0.5 dropout 0.5 salt 4
      : (tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<3xi64>)
      -> (tensor<1x2x2x2xf32>, tensor<1x2x2xf32>)
  return %o, %l : tensor<1x2x2x2xf32>, tensor<1x2x2xf32>
}

// CHECK-LABEL: @causal
// CHECK-NEXT: result 0: tensor<2x2x1x2xf32> = {{\[\[}}{{\[\[}}0, 0]], {{\[\[}}-1, 0.166666672]]], {{\[\[\[}}2.33333325, -1.33333337]], {{\[\[}}1.48832405, -1.89667284]]]]{{$}}
// CHECK-NEXT: result 1: tensor<2x1x2xf32> = {{\[\[\[}}1.3125, 0.693147182]], {{\[\[}}0.25, 0.611554861]]]{{$}}
func.func @causal() -> (tensor<2x2x1x2xf32>, tensor<2x1x2xf32>) {
  %a = hone.constant dense<[[[[1.5]], [[0.0]]], [[[2.0]], [[0.5]]]]> : tensor<2x2x1x1xf32>
  %b = hone.constant dense<[[[[1.75]], [[2.0]]], [[[0.25]], [[-1.0]]]]> : tensor<2x2x1x1xf32>
  %c = hone.constant dense<[[[[-1.5, 0.25]], [[-1.25, 1.0]]], [[[1.75, -1.0]], [[0.25, -2.0]]]]> : tensor<2x2x1x2xf32>
  %d = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %o, %l = hone.attention %a, %b, %c rng %d causal scale 0.5 dropout 0.25 salt 4
      : (tensor<2x2x1x1xf32>, tensor<2x2x1x1xf32>, tensor<2x2x1x2xf32>, tensor<3xi64>)
      -> (tensor<2x2x1x2xf32>, tensor<2x1x2xf32>)
  return %o, %l : tensor<2x2x1x2xf32>, tensor<2x1x2xf32>
}
