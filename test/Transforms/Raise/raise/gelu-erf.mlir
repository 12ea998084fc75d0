// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// 0.5 x (1 + erf(x / sqrt 2))

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]] = hone.gelu erf %[[X]]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hone.constant dense<1.0> : tensor<4x8xf32>
  %half = hone.constant dense<0.5> : tensor<4x8xf32>
  %r = hone.constant dense<1.4142135> : tensor<4x8xf32>
  %u = hone.div %x, %r : tensor<4x8xf32>
  %t = hone.erf %u : tensor<4x8xf32>
  %t1 = hone.add %t, %one : tensor<4x8xf32>
  %hx = hone.mul %x, %half : tensor<4x8xf32>
  %y = hone.mul %hx, %t1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
