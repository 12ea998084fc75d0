// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// x (1 + erf(x * 0.7071)) / 2: the root is a quotient.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]] = hone.gelu erf %[[X]]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hone.constant dense<1.0> : tensor<4x8xf32>
  %two = hone.constant dense<2.0> : tensor<4x8xf32>
  %r = hone.constant dense<0.70710677> : tensor<4x8xf32>
  %u = hone.mul %x, %r : tensor<4x8xf32>
  %t = hone.erf %u : tensor<4x8xf32>
  %t1 = hone.add %one, %t : tensor<4x8xf32>
  %xt = hone.mul %x, %t1 : tensor<4x8xf32>
  %y = hone.div %xt, %two : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
