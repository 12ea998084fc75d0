// Documents that the model finds in its tokens: who generates has none of these.
// RUN: hone-opt %s --hone-build-generate --verify-diagnostics

func.func @evaluate(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte"},
    %wpe: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "wpe"},
    %t: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens"},
    %y: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x4xi64> -> tensor<2x4x4xf32>
  %n = hone.cast %t : tensor<2x4xi64> -> tensor<2x4xi32>
  // expected-error @below {{'hone.cumsum' op cannot compute one token at a time: it combines positions or sequences, as only causal attention may}}
  %segments = hone.cumsum %n dim 1 : tensor<2x4xi32>
  %positions = hone.sub %segments, %n : tensor<2x4xi32>
  %p = hone.embedding %wpe, %positions : tensor<4x4xf32>, tensor<2x4xi32> -> tensor<2x4x4xf32>
  %x = hone.add %e, %p : tensor<2x4x4xf32>
  %q = hone.reshape %x : tensor<2x4x4xf32> -> tensor<2x4x2x2xf32>
  %o, %lse = hone.attention %q, %q, %q mask %segments causal scale 0.5
      : (tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>, tensor<2x4xi32>)
      -> (tensor<2x4x2x2xf32>, tensor<2x2x4xf32>)
  %o1 = hone.reshape %o : tensor<2x4x2x2xf32> -> tensor<2x4x4xf32>
  %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
      : tensor<2x4x4xf32>, tensor<7x4xf32> -> tensor<2x4x7xf32>
  %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x4x7xf32>, tensor<2x4xi64> -> tensor<f32>, tensor<2x4xf32>
  return %loss : tensor<f32>
}
