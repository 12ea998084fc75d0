// AdamW divides by sqrt(0) + eps at the padding.
// RUN: hone-opt %s --hone-pad-dims="multiple=8 report" --hone-verify-pad --verify-diagnostics -o %t
// RUN: not grep -q hone.parts %t

// expected-remark@+1 {{nothing is padded: AdamW with eps 0 divides zero by zero where a gradient is zero}}
module attributes {hone.optimizer = {name = "adamw", eps = 0.0 : f64}} {
func.func @forward(%w: tensor<8x6xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<4x8xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %loss = hone.reduce sum %y dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
