// RUN: hone-opt %s --hone-autodiff --hone-build-step --hone-verify-step | FileCheck %s

// Settings come from hone.optimizer; a parameter's group scales its learning rate and weight decay.

// CHECK: hone.optimizer = {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, clip = 1.000000e+00 : f64, eps = 2.500000e-01 : f64,
// CHECK-SAME: groups = [{decay_scale = 1.000000e+00 : f64, lr_scale = 1.000000e+00 : f64}, {decay_scale = 0.000000e+00 : f64, lr_scale = 5.000000e-01 : f64}],
// CHECK-SAME: lr = 6.000000e-04 : f64, maximize, name = "adamw", weight_decay = 1.000000e-01 : f64}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "w", hone.kind = "param", hone.param_group = 0
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8x4xf32> {hone.fqn = "b", hone.kind = "param", hone.param_group = 1
// CHECK: hone.adamw %[[W]], {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, eps = 2.500000e-01 : f64, maximize}
// CHECK: hone.adamw %[[B]], {{.*}} {beta1 = 8.000000e-01 : f64, beta2 = 7.500000e-01 : f64, decay_scale = 0.000000e+00 : f64, eps = 2.500000e-01 : f64, lr_scale = 5.000000e-01 : f64, maximize}

module attributes {hone.optimizer = {name = "adamw", lr = 6.0e-4 : f64, weight_decay = 0.1 : f64, beta1 = 0.8 : f64, beta2 = 0.75 : f64,
    eps = 0.25 : f64, clip = 1.0 : f64, maximize,
    groups = [{lr_scale = 1.0 : f64, decay_scale = 1.0 : f64}, {lr_scale = 0.5 : f64, decay_scale = 0.0 : f64}]}} {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.param_group = 0},
      %b: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "b", hone.requires_grad, hone.param_group = 1}) -> (tensor<f32> {hone.kind = "loss"}) {
    %y = hone.mul %w, %b : tensor<8x4xf32>
    %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
