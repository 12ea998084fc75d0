// Gradients and optimizer state have the parts of their parameter, moments under their names.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-autodiff --hone-build-step="keep-gradients" --hone-verify-step | FileCheck %s --check-prefix=STEP
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-autodiff="seed=0.5" --hone-build-step="micro-batches=2" --hone-verify-step | FileCheck %s --check-prefix=SUM
// RUN: %python %S/equal.py %s %t 8 step | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal
// STEP-LABEL: @step
// STEP-SAME: hone.parts = [#hone.part<"exp_avg.u", offset = [0, 0], shape = [8, 6]>]
// STEP-SAME: hone.parts = [#hone.part<"exp_avg_sq.u", offset = [0, 0], shape = [8, 6]>]
// STEP-SAME: -> (tensor<8x8xf32>
// STEP-SAME: hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]
// STEP-SAME: hone.kind = "grad", hone.parts = [#hone.part<"u", offset = [0, 0], shape = [8, 6]>]
// SUM-LABEL: @accumulate
// SUM-SAME: hone.kind = "grad", hone.parts = [#hone.part<"u"
// SUM-LABEL: @update
// SUM-SAME: hone.kind = "grad", hone.parts = [#hone.part<"u"
module attributes {hone.optimizer = {name = "adamw", lr = 0.1 : f64, weight_decay = 0.1 : f64, clip = 1.0 : f64, beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64}} {
func.func @forward(
    %u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %b: tensor<6xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %d: tensor<6x8xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}},
    %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %bb = hone.broadcast %b dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %s = hone.add %p, %bb : tensor<4x6xf32>
  %a = hone.gelu tanh %s : tensor<4x6xf32>
  %y = hone.dot_general %a, %d batch [] x [] contract [1] x [0] : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %e = hone.mul %y, %y : tensor<4x8xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
