// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// x sqrt(2/pi) (1 + 0.044715 x^2) inside, and the sum 0.5 x + 0.5 x t outside.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]] = hone.gelu tanh %[[X]]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hone.constant dense<0.044715> : tensor<4x8xf32>
  %s = hone.constant dense<0.7978845608> : tensor<4x8xf32>
  %one = hone.constant dense<1.0> : tensor<4x8xf32>
  %half = hone.constant dense<0.5> : tensor<4x8xf32>
  %x2 = hone.mul %x, %x : tensor<4x8xf32>
  %ax2 = hone.mul %a, %x2 : tensor<4x8xf32>
  %q = hone.add %one, %ax2 : tensor<4x8xf32>
  %sx = hone.mul %x, %s : tensor<4x8xf32>
  %u = hone.mul %sx, %q : tensor<4x8xf32>
  %t = hone.tanh %u : tensor<4x8xf32>
  %hx = hone.mul %x, %half : tensor<4x8xf32>
  %ht = hone.mul %hx, %t : tensor<4x8xf32>
  %y = hone.add %hx, %ht : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
