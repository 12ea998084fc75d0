// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @rising
// CHECK-NEXT: result 0: tensor<2x4xi64> = {{\[\[}}1, 0, 2, 3], [2, 3, 0, 1]]{{$}}
func.func @rising() -> tensor<2x4xi64> {
  %a = hone.constant dense<[[3.0, 1.0, 3.0, 0x7FC00000], [-0.0, 0.0, -1.0, -1.0]]> : tensor<2x4xf32>
  %i = hone.argsort %a dim 1 : tensor<2x4xf32> -> tensor<2x4xi64>
  return %i : tensor<2x4xi64>
}

// CHECK-LABEL: @falling
// CHECK-NEXT: result 0: tensor<2x4xi64> = {{\[\[}}3, 0, 2, 1], [0, 1, 2, 3]]{{$}}
func.func @falling() -> tensor<2x4xi64> {
  %a = hone.constant dense<[[3.0, 1.0, 3.0, 0x7FC00000], [-0.0, 0.0, -1.0, -1.0]]> : tensor<2x4xf32>
  %i = hone.argsort %a dim 1 descending : tensor<2x4xf32> -> tensor<2x4xi64>
  return %i : tensor<2x4xi64>
}

// CHECK-LABEL: @leading
// CHECK-NEXT: result 0: tensor<2x4xi64> = {{\[\[}}1, 1, 1, 1], [0, 0, 0, 0]]{{$}}
func.func @leading() -> tensor<2x4xi64> {
  %a = hone.constant dense<[[3.0, 1.0, 3.0, 0x7FC00000], [-0.0, 0.0, -1.0, -1.0]]> : tensor<2x4xf32>
  %i = hone.argsort %a dim 0 : tensor<2x4xf32> -> tensor<2x4xi64>
  return %i : tensor<2x4xi64>
}
