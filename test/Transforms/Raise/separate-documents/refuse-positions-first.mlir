// Positions before sequences.
// RUN: hone-opt %s --hone-separate-documents=end=3 --verify-diagnostics

func.func @forward(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad},
    %wpe: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "wpe", hone.requires_grad},
    %t: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 7 : i64},
    %y: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x6xi64> -> tensor<2x6x4xf32>
  %e1 = hone.transpose %e [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
  %p = hone.broadcast %wpe dims [0, 2] : tensor<6x4xf32> -> tensor<6x2x4xf32>
  // expected-error @below {{'hone.add' op cannot keep documents apart: operand #1 has a row for each position, expected sequences along its first dimension}}
  %x1 = hone.add %e1, %p : tensor<6x2x4xf32>
  %x = hone.transpose %x1 [1, 0, 2] : tensor<6x2x4xf32> -> tensor<2x6x4xf32>
  %q = hone.reshape %x : tensor<2x6x4xf32> -> tensor<2x6x2x2xf32>
  %o, %lse = hone.attention %q, %q, %q causal scale 0.5
      : (tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32>)
      -> (tensor<2x6x2x2xf32>, tensor<2x2x6xf32>)
  %o1 = hone.reshape %o : tensor<2x6x2x2xf32> -> tensor<2x6x4xf32>
  %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
      : tensor<2x6x4xf32>, tensor<7x4xf32> -> tensor<2x6x7xf32>
  %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x6x7xf32>, tensor<2x6xi64> -> tensor<f32>, tensor<2x6xf32>
  return %loss : tensor<f32>
}
