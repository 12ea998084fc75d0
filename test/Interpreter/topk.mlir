// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @largest
// CHECK-NEXT: result 0: tensor<2x2xi64> = {{\[\[}}3, 0], [0, 1]]{{$}}
func.func @largest() -> tensor<2x2xi64> {
  %a = hone.constant dense<[[3.0, 1.0, 3.0, 0x7FC00000], [-0.0, 0.0, -1.0, -1.0]]> : tensor<2x4xf32>
  %i = hone.topk %a dim 1 : tensor<2x4xf32> -> tensor<2x2xi64>
  return %i : tensor<2x2xi64>
}

// CHECK-LABEL: @smallest
// CHECK-NEXT: result 0: tensor<2x3xi32> = {{\[\[}}1, 0, 2], [2, 3, 0]]{{$}}
func.func @smallest() -> tensor<2x3xi32> {
  %a = hone.constant dense<[[3.0, 1.0, 3.0, 0x7FC00000], [-0.0, 0.0, -1.0, -1.0]]> : tensor<2x4xf32>
  %i = hone.topk %a dim 1 smallest : tensor<2x4xf32> -> tensor<2x3xi32>
  return %i : tensor<2x3xi32>
}
