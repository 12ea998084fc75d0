// A reshape splits the dimension into heads.
// RUN: hone-opt %s --hone-pad-dims="multiple=8 report" --hone-verify-pad --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t

// expected-remark@+1 {{dimension 1 of 'd' (7) is not padded: it is the size of input 'x'}}
func.func @forward(%u: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "u", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %d: tensor<2x7xf32> {hone.kind = "param", hone.fqn = "d", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}}, %x: tensor<7x8xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %p = hone.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<7x8xf32>, tensor<8x6xf32> -> tensor<7x6xf32>
  // expected-remark@+2 {{dimension 1 of 'u' (6) is not padded: this is an op that needs the dimension as it is}}
  // expected-remark@+1 {{dimension 2 of this value (3) is not padded: it comes from no parameter}}
  %r = hone.reshape %p : tensor<7x6xf32> -> tensor<7x2x3xf32>
  %y = hone.dot_general %d, %r batch [] x [] contract [1] x [0] : tensor<2x7xf32>, tensor<7x2x3xf32> -> tensor<2x2x3xf32>
  %loss = hone.reduce sum %y dims [0, 1, 2] : tensor<2x2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
