// Means over 6 of 8 columns; the other two are 0 after scale and bias, forward and backward.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK-SAME: shape = [16, 6]>]
// CHECK-SAME: #hone.part<"g", offset = [0], shape = [6]>]
// CHECK: hone.layer_norm %{{.+}} eps 1.250000e-01 width 6 : (tensor<4x8xf32>
// CHECK: hone.rms_norm %{{.+}} eps 1.250000e-01 width 6 : (tensor<4x8xf32>
// CHECK-NOT: hone.select
func.func @forward(
    %w: tensor<16x6xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %g: tensor<6xf32> {hone.kind = "param", hone.fqn = "g", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %b: tensor<6xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %h: tensor<16x6xf32> {hone.kind = "param", hone.fqn = "h", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x16xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x16xf32>, tensor<16x6xf32> -> tensor<4x6xf32>
  %n, %mean, %rstd = hone.layer_norm %p scale %g bias %b eps 0.125
      : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  %m, %r = hone.rms_norm %n scale %g eps 0.125 : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  %y = hone.dot_general %m, %h batch [] x [] contract [1] x [1] : tensor<4x6xf32>, tensor<16x6xf32> -> tensor<4x16xf32>
  %e = hone.exp %y : tensor<4x16xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
