// Rotations and masks depend on distances: their tables stay. A bias has no row per position.
// RUN: hone-opt %s --hone-separate-documents=end=3 | FileCheck %s

// CHECK-NOT: hone.put_along
// CHECK: hone.rope half %{{.+}}, %[[COS:.+]], %[[COS]]
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[WINDOW:.+]], %[[SEGMENTS:.+]] causal scale 5.000000e-01
// CHECK-SAME: tensor<1x1x6x6xf32>, tensor<2x6xi32>)
// CHECK-NOT: hone.embedding

func.func @forward(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad},
    %wpe: tensor<6x4xf32> {hone.kind = "param", hone.fqn = "wpe", hone.requires_grad},
    %t: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens", hone.vocab = 7 : i64},
    %y: tensor<2x6xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x6xi64> -> tensor<2x6x4xf32>
  %bias = hone.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %biases = hone.broadcast %bias dims [2] : tensor<4xf32> -> tensor<2x6x4xf32>
  %x = hone.add %e, %biases : tensor<2x6x4xf32>
  %h = hone.reshape %x : tensor<2x6x4xf32> -> tensor<2x6x2x2xf32>
  %place = hone.iota dim 0 : tensor<6x1xf32>
  %cos = hone.cos %place : tensor<6x1xf32>
  %q = hone.rope half %h, %cos, %cos : tensor<2x6x2x2xf32>, tensor<6x1xf32>
  %window = hone.constant dense<0.5> : tensor<1x1x6x6xf32>
  %o, %lse = hone.attention %q, %q, %q mask %window causal scale 0.5
      : (tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32>, tensor<1x1x6x6xf32>)
      -> (tensor<2x6x2x2xf32>, tensor<2x2x6xf32>)
  %o1 = hone.reshape %o : tensor<2x6x2x2xf32> -> tensor<2x6x4xf32>
  %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
      : tensor<2x6x4xf32>, tensor<7x4xf32> -> tensor<2x6x7xf32>
  %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x6x7xf32>, tensor<2x6xi64> -> tensor<f32>, tensor<2x6xf32>
  return %loss : tensor<f32>
}
