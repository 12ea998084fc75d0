// A norm would see rows of padding.
// RUN: hone-opt %s --hone-pad-dims="multiple=8 report" --hone-verify-pad --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t

func.func @forward(%w: tensor<6x8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // expected-remark@+1 {{dimension 0 of 'w' (6) is not padded: this is an op that would see rows of padding}}
  %n, %r = hone.rms_norm %w eps 0.125 : (tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6xf32>)
  %y = hone.dot_general %x, %n batch [] x [] contract [1] x [1] : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<4x6xf32>
  %e = hone.mul %y, %y : tensor<4x6xf32>
  %loss = hone.reduce sum %e dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
