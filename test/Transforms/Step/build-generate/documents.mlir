// The text is one document: attention without segments, and the position itself.
// RUN: hone-opt %s --hone-build-generate | FileCheck %s

// CHECK-LABEL: func.func @generate(
// CHECK-SAME: %[[WPE:[a-z0-9]+]]: tensor<4x4xf32> {hone.fqn = "wpe", hone.kind = "param"}
// CHECK-SAME: %[[POSITION:[a-z0-9]+]]: tensor<i64> {hone.fqn = "position", hone.kind = "scalar"}
// CHECK-NOT: hone.cumsum
// CHECK: %[[NARROW:.+]] = hone.cast %[[POSITION]] : tensor<i64> -> tensor<i32>
// CHECK: %[[ID:.+]] = hone.broadcast %[[NARROW]] dims [] : tensor<i32> -> tensor<1x1xi32>
// CHECK: hone.embedding %[[WPE]], %[[ID]] : tensor<4x4xf32>, tensor<1x1xi32> -> tensor<1x1x4xf32>
// CHECK: hone.decode_attention %{{.*}}, %{{.*}}, %{{.*}} at %[[POSITION]] scale 5.000000e-01
// CHECK-SAME: (tensor<1x1x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<i64>)
func.func @evaluate(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte"},
    %wpe: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "wpe"},
    %t: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens"},
    %y: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x4xi64> -> tensor<2x4x4xf32>
  %n = hone.cast %t : tensor<2x4xi64> -> tensor<2x4xi32>
  %segments = hone.cumsum %n dim 1 {hone.of_document = "segment"} : tensor<2x4xi32>
  %positions = hone.sub %segments, %n {hone.of_document = "position"} : tensor<2x4xi32>
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
