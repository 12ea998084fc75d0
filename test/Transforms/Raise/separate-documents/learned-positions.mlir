// Attention gets the number of the document; a learned position is that inside of the document.
// RUN: hone-opt %s --hone-separate-documents=end=3 | FileCheck %s

// CHECK: %[[END:.+]] = hone.constant dense<3> : tensor<2x6xi64>
// CHECK: %[[IS:.+]] = hone.cmp eq, %[[T:.+]], %[[END]]
// CHECK: %[[ENDS:.+]] = hone.cast %[[IS]] : tensor<2x6xi1> -> tensor<2x6xi32>
// CHECK: %[[SUM:.+]] = hone.cumsum %[[ENDS]] dim 1 : tensor<2x6xi32>
// CHECK: %[[SEGMENTS:.+]] = hone.sub %[[SUM]], %[[ENDS]] {hone.of_document = "segment"} : tensor<2x6xi32>
// CHECK: %[[PLACE:.+]] = hone.iota dim 1 : tensor<2x6xi32>
// CHECK: %[[FIRSTS:.+]] = hone.put_along min %[[PLACE]], %[[SEGMENTS]] dim 1
// CHECK: %[[FIRST:.+]] = hone.take_along %[[FIRSTS]], %[[SEGMENTS]] dim 1
// CHECK: %[[POSITION:.+]] = hone.sub %[[PLACE]], %[[FIRST]] {hone.of_document = "position"} : tensor<2x6xi32>
// CHECK: %[[ROWS:.+]] = hone.embedding %[[WPE:.+]], %[[POSITION]] : tensor<6x4xf32>, tensor<2x6xi32> -> tensor<2x6x4xf32>
// CHECK: hone.add %{{.+}}, %[[ROWS]] : tensor<2x6x4xf32>
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[SEGMENTS]] causal scale 5.000000e-01

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
