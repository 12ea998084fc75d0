// Rows are merged and turned on the way; the padding keeps its place.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK: hone.reshape %{{.+}} : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK: hone.transpose %{{.+}} [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
// CHECK: hone.slice %{{.+}} [0, 1] to [8, 5] by [1, 2] : tensor<8x6xf32> -> tensor<8x2xf32>
func.func @forward(%u: tensor<16x7xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %d: tensor<7x8xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %x: tensor<2x3x16xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [2] x [0]
      : tensor<2x3x16xf32>, tensor<16x7xf32> -> tensor<2x3x7xf32>
  %r = hone.reshape %p : tensor<2x3x7xf32> -> tensor<6x7xf32>
  %t = hone.transpose %r [1, 0] : tensor<6x7xf32> -> tensor<7x6xf32>
  %s = hone.slice %t [0, 1] to [7, 5] by [1, 2] : tensor<7x6xf32> -> tensor<7x2xf32>
  %y = hone.dot_general %s, %d batch [] x [] contract [0] x [0] : tensor<7x2xf32>, tensor<7x8xf32> -> tensor<2x8xf32>
  %e = hone.mul %y, %y : tensor<2x8xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
