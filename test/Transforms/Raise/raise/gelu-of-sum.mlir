// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// x is a sum itself (a bias was added): it is found as the leaf that both places share.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor{{.*}}%[[B:[a-z0-9]+]]: tensor
// CHECK: %[[S:.+]] = hone.add %[[V]], %[[B]]
// CHECK-NEXT: %[[Y:.+]] = hone.gelu tanh %[[S]]

func.func @forward(%v: tensor<4x8xf32>,
    %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %x = hone.add %v, %b : tensor<4x8xf32>
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
