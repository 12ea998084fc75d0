// It is the size of an input; rows of tokens need no multiple, and the runtime feeds them.
// RUN: hone-opt %s --hone-pad-dims="multiple=8 report" --hone-verify-pad --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t

// expected-remark@+1 {{dimension 0 of 'w' (6) is not padded: it is the size of input 'x'}}
func.func @forward(%w: tensor<6x8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<4x6xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
