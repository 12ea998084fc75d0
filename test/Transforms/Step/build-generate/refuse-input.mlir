// The logits depend on another input.
// RUN: hone-opt %s --hone-build-generate --verify-diagnostics

func.func @evaluate(
    %w: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "w"},
    %t: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens"},
    %y: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"},
    %a: tensor<2x4x4xf32> {hone.kind = "input", hone.fqn = "a"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.embedding %w, %t : tensor<7x4xf32>, tensor<2x4xi64> -> tensor<2x4x4xf32>
  // expected-error @below {{'hone.add' op reads input 'a', expected logits that depend on the tokens alone}}
  %r = hone.add %x, %a : tensor<2x4x4xf32>
  %l = hone.dot_general %r, %w batch [] x [] contract [2] x [1]
      : tensor<2x4x4xf32>, tensor<7x4xf32> -> tensor<2x4x7xf32>
  %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x4x7xf32>, tensor<2x4xi64> -> tensor<f32>, tensor<2x4xf32>
  return %loss : tensor<f32>
}
