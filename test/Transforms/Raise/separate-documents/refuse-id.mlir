// An id that no token has.
// RUN: hone-opt %s --hone-separate-documents=end=7 --verify-diagnostics

// expected-error @below {{the end of documents is id 7, expected an id of the tokens, from 0 to 6}}
func.func @forward(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad},
    %wpe: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "wpe", hone.requires_grad},
    %t: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 7 : i64},
    %y: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x6xi64> -> tensor<2x6x4xf32>
  %p = hone.broadcast %wpe dims [1, 2] : tensor<6x4xf32> -> tensor<2x6x4xf32>
  %x = hone.add %e, %p : tensor<2x6x4xf32>
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
