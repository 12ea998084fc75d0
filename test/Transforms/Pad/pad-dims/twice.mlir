// A second run finds nothing to do, and one with other multiples no masks to add.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --mlir-print-debuginfo -o %t
// RUN: hone-opt %t --hone-pad-dims="multiple=8" --hone-verify-pad --mlir-print-debuginfo | diff - %t
// RUN: hone-opt %s --hone-pad-dims="multiple=off" | FileCheck %s --check-prefix=OFF
// OFF-NOT: hone.parts
func.func @forward(
    %u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %b: tensor<6xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %d: tensor<6x8xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %bb = hone.broadcast %b dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %s = hone.add %p, %bb : tensor<4x6xf32>
  %a = hone.exp %s : tensor<4x6xf32>
  %y = hone.dot_general %a, %d batch [] x [] contract [1] x [0] : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %e = hone.mul %y, %y : tensor<4x8xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
