// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @mask
// CHECK-NEXT: result 0: tensor<1x2x2x2xf32> = {{\[\[}}{{\[\[}}0, 0], [-0.0178692658, 0.387403697]], {{\[\[}}0.0706253871, -0.469332457], [-0.0552196689, 0.380089581]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}0.527921855, 0.694509566]], {{\[\[}}-0.130772173, -0.228939489]], {{\[\[}}-0.397149682, -0.465570092]]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x3x1x1xf32> = {{\[\[}}{{\[\[}}-1.5515182]], {{\[\[}}0.172794938]], {{\[\[}}-0.621276557]]]]{{$}}
func.func @mask() -> (tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>) {
  %a = hone.constant dense<[[[[0.0], [-1.75]], [[1.0], [-1.25]]]]> : tensor<1x2x2x1xf32>
  %b = hone.constant dense<[[[[0.25, 1.0], [1.0, 1.25]], [[0.5, -1.5], [1.5, -0.25]]]]> : tensor<1x2x2x2xf32>
  %c = hone.constant dense<[[[[1.5, 1.25]], [[2.0, -2.0]], [[1.5, 0.5]]]]> : tensor<1x3x1x2xf32>
  %d = hone.constant dense<[[[[0.0]], [[1.25]], [[2.0]]]]> : tensor<1x3x1x1xf32>
  %e = hone.constant dense<[[[[0.862771988], [0.814899683]], [[0.749862194], [0.280277878]]]]> : tensor<1x2x2x1xf32>
  %f = hone.constant dense<[[[0.202721328, 2.07119966], [0.865815639, 2.95253944]]]> : tensor<1x2x2xf32>
  %g = hone.constant dense<[[[[-1.25, -1.25, -1.25], [1.75, -0.5, -1.75]]]]> : tensor<1x1x2x3xf32>
  %dq, %dk, %dv = hone.attention_bwd %a, %b, %c, %d, %e, %f mask %g scale 0.5
      : (tensor<1x2x2x1xf32>, tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>, tensor<1x1x2x3xf32>)
      -> (tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>)
  return %dq, %dk, %dv : tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x1xf32>
}

// CHECK-LABEL: @dropout
// CHECK-NEXT: result 0: tensor<1x2x2x2xf32> = {{\[\[}}{{\[\[}}0.656445622, 0.0883143097], [-0.189939931, -0.194992661]], {{\[\[}}-0.0366743989, -0.0113022095], [2.14262533, 0.268086612]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}0.55792582, -0.253301978]], {{\[\[}}-0.439500511, -1.11596358]], {{\[\[}}-0.118425332, 1.36926568]]]]{{$}}
// CHECK-NEXT: result 2: tensor<1x3x1x2xf32> = {{\[\[}}{{\[\[}}1.38291669, 0.987797678]], {{\[\[}}1.73106229, 1.20724797]], {{\[\[}}2.09348178, 2.22772312]]]]{{$}}
func.func @dropout() -> (tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) {
  %a = hone.constant dense<[[[[0.0, 1.75], [1.75, 1.25]], [[1.0, 0.25], [0.25, 1.5]]]]> : tensor<1x2x2x2xf32>
  %b = hone.constant dense<[[[[-1.25, -0.5], [-0.75, -0.75]], [[2.0, 1.5], [0.25, 2.0]]]]> : tensor<1x2x2x2xf32>
  %c = hone.constant dense<[[[[-0.75, -1.5]], [[-1.0, -1.75]], [[2.0, -1.25]]]]> : tensor<1x3x1x2xf32>
  %d = hone.constant dense<[[[[-0.25, -1.25]], [[2.0, -1.5]], [[0.0, 2.0]]]]> : tensor<1x3x1x2xf32>
  %e = hone.constant dense<[[[[0.0, 0.279206187], [1.70885873, -2.41761136]], [[0.125892594, 3.58470178], [0.0, 2.03136992]]]]> : tensor<1x2x2x2xf32>
  %f = hone.constant dense<[[[1.72459912, 1.14612043], [1.77231812, -0.322416067]]]> : tensor<1x2x2xf32>
  %g = hone.constant dense<[81985529216486895, 7, 2]> : tensor<3xi64>
  %dq, %dk, %dv = hone.attention_bwd %a, %b, %c, %d, %e, %f rng %g scale 0.5 dropout 0.5 salt 4
      : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2xf32>, tensor<3xi64>)
      -> (tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>)
  return %dq, %dk, %dv : tensor<1x2x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>
}
