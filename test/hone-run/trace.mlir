// RUN: hone-run --eval %s --trace | FileCheck %s

// Ops in order, with place and sums of each result; those of a group are one line.
// CHECK:      @traced
// CHECK-NEXT: {{.*}}trace.mlir:[[# @LINE + 6]]:8: hone.constant tensor<2xf32> sum 7 norm 5
// CHECK-NEXT: {{.*}}trace.mlir:[[# @LINE + 6]]:8: hone.neg tensor<2xf32> sum -7 norm 5
// CHECK-NEXT: {{.*}}trace.mlir:[[# @LINE + 6]]:8: hone.fused tensor<2xf32> sum -7 norm 5
// CHECK-NEXT: result 0: tensor<2xf32> = [-3, -4]
// CHECK-NOT: {{.}}
func.func @traced() -> tensor<2xf32> {
  %x = hone.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %y = hone.neg %x : tensor<2xf32>
  %z = hone.fused map (%a = %y : tensor<2xf32>) -> tensor<2xf32> {
    %m = hone.neg %a : tensor<2xf32>
    %n = hone.neg %m : tensor<2xf32>
    hone.yield %n : tensor<2xf32>
  }
  return %z : tensor<2xf32>
}
