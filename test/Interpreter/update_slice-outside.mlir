// RUN: not hone-run --eval %s 2>&1 | FileCheck %s

// CHECK: the update of 2 begins at 3, expected 0 <= at <= 2
func.func @outside() -> tensor<4xf32> {
  %x = hone.constant dense<1.0> : tensor<4xf32>
  %u = hone.constant dense<2.0> : tensor<2xf32>
  %at = hone.constant dense<3> : tensor<i64>
  %y = hone.update_slice %x, %u at %at dim 0 : tensor<4xf32>, tensor<2xf32>
  return %y : tensor<4xf32>
}
