// RUN: hone-opt %s --hone-autodiff --split-input-file --verify-diagnostics

func.func @forward(%x: tensor<1x4x2x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
    %m: tensor<1x2x4x4xf32> {hone.kind = "param", hone.fqn = "bias", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+1 {{'hone.attention' op has no gradient with respect to its mask, which depends on a parameter that requires one}}
  %y, %lse = hone.attention %x, %x, %x mask %m scale 0.5
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x2x4x4xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  %loss = hone.reduce sum %y dims [0, 1, 2, 3] : tensor<1x4x2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @forward(%x: tensor<1x4x2x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %c: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "cos", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-error@+2 {{'hone.rope' op has no gradient with respect to its cos table, which depends on a parameter that requires one}}
  // expected-error@+1 {{'hone.rope' op has no gradient with respect to its sin table, which depends on a parameter that requires one}}
  %y = hone.rope half %x, %c, %c : tensor<1x4x2x8xf32>, tensor<4x4xf32>
  %loss = hone.reduce sum %y dims [0, 1, 2, 3] : tensor<1x4x2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
