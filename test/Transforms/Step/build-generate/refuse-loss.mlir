// No cross entropy, whose logits would choose a token.
// RUN: hone-opt %s --hone-build-generate --verify-diagnostics

// expected-error @below {{computes 0 cross entropies, expected one, whose logits choose the next token}}
func.func @evaluate(%t: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.cast %t : tensor<2x4xi64> -> tensor<2x4xf32>
  %s = hone.reduce sum %x dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
