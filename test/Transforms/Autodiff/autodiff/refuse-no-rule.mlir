// RUN: hone-opt %s --hone-autodiff --verify-diagnostics

// An op that is not differentiated twice: named, with its place, instead of a silent zero.

func.func @forward(%x: tensor<4x8xf32> {hone.kind = "param", hone.fqn = "x", hone.requires_grad}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.softmax %x : tensor<4x8xf32>
  // expected-error@+1 {{'hone.softmax_bwd' op has no gradient, and lies between a parameter that requires one and the loss}}
  %dx = hone.softmax_bwd %y, %y : tensor<4x8xf32>
  %loss = hone.reduce sum %dx dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
