// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the cube as products.

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
  %x3 = hone.mul %x2, %x : tensor<4x8xf32>
  %ax3 = hone.mul %x3, %a : tensor<4x8xf32>
  %p = hone.add %x, %ax3 : tensor<4x8xf32>
  %u = hone.mul %p, %s : tensor<4x8xf32>
  %t = hone.tanh %u : tensor<4x8xf32>
  %t1 = hone.add %t, %one : tensor<4x8xf32>
  %hx = hone.mul %x, %half : tensor<4x8xf32>
  %y = hone.mul %hx, %t1 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
