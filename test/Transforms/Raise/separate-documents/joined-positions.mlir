// A table of sequences and positions in one dimension, computed of a counter and negated.
// RUN: hone-opt %s --hone-separate-documents=end=3 | FileCheck %s

// CHECK: %[[POSITION:.+]] = hone.sub %{{.+}}, %{{.+}} {hone.of_document = "position"} : tensor<2x6xi32>
// CHECK: %[[ROWS:.+]] = hone.embedding %{{.+}}, %[[POSITION]] : tensor<6x4xf32>, tensor<2x6xi32> -> tensor<2x6x4xf32>
// CHECK: %[[JOINED:.+]] = hone.reshape %{{.+}} : tensor<2x1x6x4xf32> -> tensor<12x4xf32>
// CHECK-NEXT: hone.mul %{{.+}}, %[[JOINED]] : tensor<12x4xf32>

func.func @forward(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad},
    %wpe: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "wpe", hone.requires_grad},
    %t: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 7 : i64},
    %y: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x6xi64> -> tensor<2x6x4xf32>
  %e1 = hone.reshape %e : tensor<2x6x4xf32> -> tensor<12x4xf32>
  %place = hone.iota dim 1 : tensor<2x6x4xf32>
  %table = hone.neg %place : tensor<2x6x4xf32>
  %p = hone.reshape %table : tensor<2x6x4xf32> -> tensor<12x4xf32>
  %x1 = hone.mul %e1, %p : tensor<12x4xf32>
  %x = hone.reshape %x1 : tensor<12x4xf32> -> tensor<2x6x4xf32>
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
