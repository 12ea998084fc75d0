// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @groups
// CHECK-NEXT: result 0: tensor<3x1x1xf32> = {{\[\[\[}}1]], {{\[\[}}0]], {{\[\[}}320]]]{{$}}
func.func @groups() -> tensor<3x1x1xf32> {
  %x = hone.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %g = hone.constant dense<[[1.0], [10.0], [100.0], [1000.0]]> : tensor<4x1xf32>
  %e = hone.constant dense<[1, 1, 3]> : tensor<3xi64>
  %y = hone.grouped_dot_bwd_weight %x, %g, %e : tensor<4x1xf32>, tensor<4x1xf32>, tensor<3xi64> -> tensor<3x1x1xf32>
  return %y : tensor<3x1x1xf32>
}
