// RUN: hone-opt %s --hone-autodiff --hone-build-step | FileCheck %s

// Without settings: PyTorch's defaults of AdamW, no clipping.

// CHECK: hone.optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.998{{9+}} : f64, clip = 0x7FF0000000000000 : f64, eps = 1.000000e-08 : f64,
// CHECK-SAME: lr = 1.000000e-03 : f64, name = "adamw", weight_decay = 1.000000e-02 : f64}

func.func @forward(%w: tensor<8x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.mul %w, %x : tensor<8x4xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
