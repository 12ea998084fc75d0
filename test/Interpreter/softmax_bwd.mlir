// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @row
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}-0.5, 0, 0.5]]{{$}}
func.func @row() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 4.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[0.5, 0.25, 0.25]]> : tensor<1x3xf32>
  %r = hone.softmax_bwd %a, %b : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @masked_class
// CHECK-NEXT: result 0: tensor<1x2xf32> = {{\[\[}}0, 0]]{{$}}
func.func @masked_class() -> tensor<1x2xf32> {
  %a = hone.constant dense<[[3.0, 7.0]]> : tensor<1x2xf32>
  %b = hone.constant dense<[[1.0, 0.0]]> : tensor<1x2xf32>
  %r = hone.softmax_bwd %a, %b : tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}
