// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @scale
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}0, 0], [0, 0]]{{$}}
func.func @scale() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[1.0, -2.0], [3.0, 1.0]]> : tensor<2x2xf32>
  %b = hone.constant dense<[[1.0, 3.0], [2.0, -2.0]]> : tensor<2x2xf32>
  %c = hone.constant dense<[2.0, 0.0]> : tensor<2xf32>
  %d = hone.constant dense<[1.0, 0.5]> : tensor<2xf32>
  %e = hone.constant dense<[2.0, -1.0]> : tensor<2xf32>
  %r = hone.layer_norm_bwd %a, %b, %c, %d scale %e
      : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @three_columns
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}-0.166666672, -0.0833333358, 0.25]]{{$}}
func.func @three_columns() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[1.0, 0.0, -4.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[1.0, 2.0, 6.0]]> : tensor<1x3xf32>
  %c = hone.constant dense<[3.0]> : tensor<1xf32>
  %d = hone.constant dense<[0.5]> : tensor<1xf32>
  %r = hone.layer_norm_bwd %a, %b, %c, %d : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}
