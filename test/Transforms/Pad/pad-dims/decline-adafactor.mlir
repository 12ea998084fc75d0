// Adafactor's means would count the padding. The option says what the step will use, whatever the module says.
// RUN: hone-opt %s --hone-pad-dims="multiple=8 report" --hone-verify-pad --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t
// RUN: hone-opt %s --hone-pad-dims="multiple=8 optimizer=lion" --hone-verify-pad | grep -q hone.parts

// expected-remark@+1 {{nothing is padded: the means of Adafactor would count padding}}
module attributes {hone.optimizer = {name = "adafactor"}} {
func.func @forward(%w: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
