// RUN: hone-opt %s --hone-autodiff --hone-build-step="optimizer=sgd" | FileCheck %s

// Another optimizer than the module's starts from its own defaults; groups and clipping stay, since they mean the same.

// CHECK: hone.optimizer = {clip = 5.000000e-01 : f64, groups = [{decay_scale = 0.000000e+00 : f64, lr_scale = 1.000000e+00 : f64}],
// CHECK-SAME: lr = 1.000000e-03 : f64, momentum = 0.000000e+00 : f64, name = "sgd", weight_decay = 0.000000e+00 : f64}
// CHECK: hone.sgd

module attributes {hone.optimizer = {name = "adamw", lr = 6.0e-4 : f64, weight_decay = 0.1 : f64, clip = 0.5 : f64,
    groups = [{lr_scale = 1.0 : f64, decay_scale = 0.0 : f64}]}} {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
    %loss = hone.reduce sum %w dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
