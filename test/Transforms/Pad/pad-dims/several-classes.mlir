// Three classes at once, two of them in one parameter; a mask has the sizes of all.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK-SAME: #hone.part<"u", offset = [0, 0], shape = [5, 11]>]
// CHECK: hone.select %{{.+}} : tensor<4x16xi1>, tensor<4x16xf32>
func.func @forward(%w: tensor<8x5xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %u: tensor<5x11xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %d: tensor<11x3xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %b = hone.dot_general %a, %u batch [] x [] contract [1] x [0] : tensor<4x5xf32>, tensor<5x11xf32> -> tensor<4x11xf32>
  %c = hone.logistic %b : tensor<4x11xf32>
  %y = hone.dot_general %c, %d batch [] x [] contract [1] x [0] : tensor<4x11xf32>, tensor<11x3xf32> -> tensor<4x3xf32>
  %e = hone.exp %y : tensor<4x3xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<4x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
