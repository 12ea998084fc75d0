// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @sum
// CHECK-NEXT: result 0: tensor<1x4xf32> = {{\[\[}}2, 0, 0, 5]]{{$}}
func.func @sum() -> tensor<1x4xf32> {
  %u = hone.constant dense<[[1.0, 2.0, 4.0]]> : tensor<1x3xf32>
  %i = hone.constant dense<[[3, 0, 3]]> : tensor<1x3xi64>
  %y = hone.put_along sum %u, %i dim 1 : tensor<1x3xf32>, tensor<1x3xi64> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// CHECK-LABEL: @max
// CHECK-NEXT: result 0: tensor<1x4xf32> = {{\[\[}}2, -inf, -inf, 4]]{{$}}
func.func @max() -> tensor<1x4xf32> {
  %u = hone.constant dense<[[1.0, 2.0, 4.0]]> : tensor<1x3xf32>
  %i = hone.constant dense<[[3, 0, 3]]> : tensor<1x3xi64>
  %y = hone.put_along max %u, %i dim 1 : tensor<1x3xf32>, tensor<1x3xi64> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// CHECK-LABEL: @min_of_integers
// CHECK-NEXT: result 0: tensor<2xi8> = [127, 5]{{$}}
func.func @min_of_integers() -> tensor<2xi8> {
  %u = hone.constant dense<[7, 5]> : tensor<2xi8>
  %i = hone.constant dense<1> : tensor<2xi64>
  %y = hone.put_along min %u, %i dim 0 : tensor<2xi8>, tensor<2xi64> -> tensor<2xi8>
  return %y : tensor<2xi8>
}
