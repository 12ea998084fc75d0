// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @half
// CHECK-NEXT: result 0: tensor<1x2x1x4xf32> = {{\[\[}}{{\[\[}}1, 2, 3, 4]], {{\[\[}}-7, -2.79999995, 5, 9.60000038]]]]{{$}}
func.func @half() -> tensor<1x2x1x4xf32> {
  %a = hone.constant dense<[[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]]> : tensor<1x2x1x4xf32>
  %b = hone.constant dense<[[1.0, 1.0], [0.0, 0.6]]> : tensor<2x2xf32>
  %c = hone.constant dense<[[0.0, 0.0], [1.0, 0.8]]> : tensor<2x2xf32>
  %r = hone.rope half %a, %b, %c : tensor<1x2x1x4xf32>, tensor<2x2xf32>
  return %r : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: @interleaved
// CHECK-NEXT: result 0: tensor<1x2x1x4xf32> = {{\[\[}}{{\[\[}}1, 2, 3, 4]], {{\[\[}}-6, 5, -2.19999981, 10.4000006]]]]{{$}}
func.func @interleaved() -> tensor<1x2x1x4xf32> {
  %a = hone.constant dense<[[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]]> : tensor<1x2x1x4xf32>
  %b = hone.constant dense<[[1.0, 1.0], [0.0, 0.6]]> : tensor<2x2xf32>
  %c = hone.constant dense<[[0.0, 0.0], [1.0, 0.8]]> : tensor<2x2xf32>
  %r = hone.rope interleaved %a, %b, %c : tensor<1x2x1x4xf32>, tensor<2x2xf32>
  return %r : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: @half_inverse
// CHECK-NEXT: result 0: tensor<1x2x1x4xf32> = {{\[\[}}{{\[\[}}1, 2, 3, 4]], {{\[\[}}7, 10, -5, 1.1920929e-07]]]]{{$}}
func.func @half_inverse() -> tensor<1x2x1x4xf32> {
  %a = hone.constant dense<[[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]]> : tensor<1x2x1x4xf32>
  %b = hone.constant dense<[[1.0, 1.0], [0.0, 0.6]]> : tensor<2x2xf32>
  %c = hone.constant dense<[[0.0, 0.0], [1.0, 0.8]]> : tensor<2x2xf32>
  %r = hone.rope half inverse %a, %b, %c : tensor<1x2x1x4xf32>, tensor<2x2xf32>
  return %r : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: @interleaved_inverse
// CHECK-NEXT: result 0: tensor<1x2x1x4xf32> = {{\[\[}}{{\[\[}}1, 2, 3, 4]], {{\[\[}}6, -5, 10.6000004, -0.799999893]]]]{{$}}
func.func @interleaved_inverse() -> tensor<1x2x1x4xf32> {
  %a = hone.constant dense<[[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]]> : tensor<1x2x1x4xf32>
  %b = hone.constant dense<[[1.0, 1.0], [0.0, 0.6]]> : tensor<2x2xf32>
  %c = hone.constant dense<[[0.0, 0.0], [1.0, 0.8]]> : tensor<2x2xf32>
  %r = hone.rope interleaved inverse %a, %b, %c : tensor<1x2x1x4xf32>, tensor<2x2xf32>
  return %r : tensor<1x2x1x4xf32>
}

// The angle depends on dimension 1.
// CHECK-LABEL: @position_not_head
// CHECK-NEXT: result 0: tensor<1x2x2x2xf32> = {{\[\[}}{{\[\[}}1, 2], [3, 4]], {{\[\[}}-6, 5], [-8, 7]]]]{{$}}
func.func @position_not_head() -> tensor<1x2x2x2xf32> {
  %a = hone.constant dense<[[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]> : tensor<1x2x2x2xf32>
  %b = hone.constant dense<[[1.0], [0.0]]> : tensor<2x1xf32>
  %c = hone.constant dense<[[0.0], [1.0]]> : tensor<2x1xf32>
  %r = hone.rope half %a, %b, %c : tensor<1x2x2x2xf32>, tensor<2x1xf32>
  return %r : tensor<1x2x2x2xf32>
}
