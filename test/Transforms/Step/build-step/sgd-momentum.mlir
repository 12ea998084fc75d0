// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=sgd momentum=0.9 nesterov" --hone-verify-step | FileCheck %s

// CHECK: hone.optimizer = {{{.*}}momentum = 9.000000e-01 : f64, name = "sgd", nesterov,
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "momentum.w", hone.init = {dist = "constant", value = 0.000000e+00 : f64}, hone.kind = "opt"}
// CHECK: hone.sgd %{{.+}} buffer %[[B]] apply %{{.+}} {momentum = 9.000000e-01 : f64, nesterov}

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
