// A parameter that is packed keeps its parts; padding comes after them.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// CHECK: tensor<8x16xf32> {{.*}}hone.parts = [#hone.part<"a", offset = [0, 0], shape = [8, 6]>, #hone.part<"b", offset = [0, 6], shape = [8, 5]>]
func.func @forward(%u: tensor<8x11xf32> {hone.kind = "param", hone.fqn = "a+b", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}, hone.parts = [
        #hone.part<"a", offset = [0, 0], shape = [8, 6]>, #hone.part<"b", offset = [0, 6], shape = [8, 5]>]},
    %d: tensor<11x8xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x11xf32> -> tensor<4x11xf32>
  %y = hone.dot_general %p, %d batch [] x [] contract [1] x [0] : tensor<4x11xf32>, tensor<11x8xf32> -> tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
