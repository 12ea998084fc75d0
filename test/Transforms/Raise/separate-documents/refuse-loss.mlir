// A loss without cross entropy.
// RUN: hone-opt %s --hone-separate-documents=end=3 --verify-diagnostics

// expected-error @below {{computes no hone.cross_entropy, expected one, whose logits are followed back to the tokens to keep documents apart}}
func.func @forward(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad},
    %wpe: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "wpe", hone.requires_grad},
    %t: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 7 : i64},
    %y: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x6xi64> -> tensor<2x6x4xf32>
  %loss = hone.reduce sum %e dims [0, 1, 2] : tensor<2x6x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
