// RUN: hone-run --eval %s | FileCheck %s

// Log-sum-exps 0 and log 3: weights 1/4 and 3/4, and together log 4.
// CHECK-LABEL: @weights
// CHECK-NEXT: result 0: tensor<1x1x1x2xf32> = {{\[\[}}{{\[\[}}7, 2]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x1x1xf32> = {{\[\[\[}}1.38629436]]]{{$}}
func.func @weights() -> (tensor<1x1x1x2xf32>, tensor<1x1x1xf32>) {
  %a = hone.constant dense<[[[[4.0, 8.0]]]]> : tensor<1x1x1x2xf32>
  %b = hone.constant dense<[[[[8.0, 0.0]]]]> : tensor<1x1x1x2xf32>
  %l = hone.constant dense<0.0> : tensor<1x1x1xf32>
  %m = hone.constant dense<1.09861228867> : tensor<1x1x1xf32>
  %o, %n = hone.merge_attention %a, %l with %b, %m : tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
  return %o, %n : tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
}

// Two positions of two heads, whose log-sum-exps are heads first. A set without a key that is seen has an infinite
// log-sum-exp of either sign and the weight 0; where both are such, the result is 0.
// CHECK-LABEL: @hidden
// CHECK-NEXT: result 0: tensor<1x2x2x1xf32> = {{\[\[}}{{\[\[}}5], [2]], {{\[\[}}7], [0]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x2x2xf32> = {{\[\[\[}}-1, 0.5], [2, inf]]]{{$}}
func.func @hidden() -> (tensor<1x2x2x1xf32>, tensor<1x2x2xf32>) {
  %a = hone.constant dense<[[[[0.0], [2.0]], [[0.0], [3.0]]]]> : tensor<1x2x2x1xf32>
  %b = hone.constant dense<[[[[5.0], [0.0]], [[7.0], [4.0]]]]> : tensor<1x2x2x1xf32>
  %l = hone.constant dense<[[[0xFF800000, 0x7F800000], [2.0, 0xFF800000]]]> : tensor<1x2x2xf32>
  %m = hone.constant dense<[[[-1.0, 0.5], [0xFF800000, 0x7F800000]]]> : tensor<1x2x2xf32>
  %o, %n = hone.merge_attention %a, %l with %b, %m : tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
  return %o, %n : tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
}

// Scores of 1000 overflow without the largest.
// CHECK-LABEL: @large
// CHECK-NEXT: result 0: tensor<1x1x1x1xf32> = {{\[\[\[\[}}3]]]]{{$}}
// CHECK-NEXT: result 1: tensor<1x1x1xf32> = {{\[\[\[}}1000.69318]]]{{$}}
func.func @large() -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>) {
  %a = hone.constant dense<2.0> : tensor<1x1x1x1xf32>
  %b = hone.constant dense<4.0> : tensor<1x1x1x1xf32>
  %l = hone.constant dense<1000.0> : tensor<1x1x1xf32>
  %o, %n = hone.merge_attention %a, %l with %b, %l : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  return %o, %n : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
}
