// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @same_value
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}1, 2, 3], [4, 5, -6]]{{$}}
func.func @same_value() -> tensor<2x3xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %r = hone.stop_gradient %a : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
