// RUN: hone-run --eval %s | FileCheck %s

// The last query of @causal in attention.mlir, as the only one; one more key is behind it.
// CHECK-LABEL: @one
// CHECK-NEXT: result 0: tensor<1x1x1x2xf32> = {{\[\[}}{{\[\[}}-0.361506164, 0.434810191]]]]{{$}}
func.func @one() -> tensor<1x1x1x2xf32> {
  %a = hone.constant dense<[[[[1.25, -1.5]]]]> : tensor<1x1x1x2xf32>
  %b = hone.constant dense<[[[[-0.25, 1.25]], [[-0.75, -0.75]], [[-1.0, 1.0]], [[5.0, 5.0]]]]> : tensor<1x4x1x2xf32>
  %c = hone.constant dense<[[[[-1.0, 2.0]], [[-0.25, 0.0]], [[0.0, 0.25]], [[7.0, 7.0]]]]> : tensor<1x4x1x2xf32>
  %p = hone.constant dense<2> : tensor<i64>
  %o = hone.decode_attention %a, %b, %c at %p scale 0.5
      : (tensor<1x1x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<i64>) -> tensor<1x1x1x2xf32>
  return %o : tensor<1x1x1x2xf32>
}
