// A sum of zeros too: its gradient would reach the padding. A mean divides by the 6 that it divided by.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK: hone.cmp lt
// CHECK: %[[A:.+]] = hone.select
// CHECK: hone.reduce sum %[[A]] dims [1] : tensor<4x8xf32>
// CHECK: hone.constant dense<6.000000e+00> : tensor<4xf32>
func.func @forward(
    %u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %s = hone.reduce sum %p dims [1] : tensor<4x6xf32> -> tensor<4xf32>
  %six = hone.constant dense<6.0> : tensor<4xf32>
  %m = hone.div %s, %six : tensor<4xf32>
  %e = hone.exp %m : tensor<4xf32>
  %loss = hone.reduce sum %e dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
