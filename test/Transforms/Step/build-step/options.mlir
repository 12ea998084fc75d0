// RUN: hone-opt %s --hone-autodiff --hone-build-step="lr=1e-2 weight-decay=0 clip=inf beta1=0.5 beta2=0.75 eps=0.25" | FileCheck %s

// Options go before the attribute, and what was used is written back to it: the runtime finds its defaults in one place.

// CHECK: hone.optimizer = {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, clip = 0x7FF0000000000000 : f64, eps = 2.500000e-01 : f64,
// CHECK-SAME: groups = [{decay_scale = 0.000000e+00 : f64, lr_scale = 1.000000e+00 : f64}], lr = 1.000000e-02 : f64, name = "adamw", weight_decay = 0.000000e+00 : f64}
// CHECK: hone.adamw {{.*}} {beta1 = 5.000000e-01 : f64, beta2 = 7.500000e-01 : f64, decay_scale = 0.000000e+00 : f64, eps = 2.500000e-01 : f64}

module attributes {hone.optimizer = {name = "adamw", lr = 6.0e-4 : f64, weight_decay = 0.1 : f64, clip = 0.5 : f64,
    groups = [{lr_scale = 1.0 : f64, decay_scale = 0.0 : f64}]}} {
  func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
    %loss = hone.reduce sum %w dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
