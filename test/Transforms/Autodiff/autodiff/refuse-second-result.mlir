// RUN: hone-opt %s --hone-autodiff --split-input-file --verify-diagnostics

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.layer_norm' op has no gradient through result #1 (mean), which the loss depends on}}
  %y, %mean, %rstd = hone.layer_norm %x eps 1.0e-05 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %loss = hone.reduce sum %mean dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.rms_norm' op has no gradient through result #1 (rstd), which the loss depends on}}
  %y, %rstd = hone.rms_norm %x eps 1.0e-05 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  %loss = hone.reduce sum %rstd dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %t: tensor<4xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.cross_entropy' op has no gradient through result #1 (lse), which the loss depends on}}
  %l, %lse = hone.cross_entropy none %x, %t ignore_index -100 label_smoothing 0.0 : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>, tensor<4xf32>
  %sum = hone.add %l, %lse : tensor<4xf32>
  %loss = hone.reduce sum %sum dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
