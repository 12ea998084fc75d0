// Attention of one query over the caches; what does not depend on the tokens is picked at the position.
// RUN: hone-opt %s --hone-build-generate | FileCheck %s

// CHECK-LABEL: func.func @generate(
// CHECK-SAME: %[[WTE:[a-z0-9]+]]: tensor<7x4xf32> {hone.fqn = "wte", hone.kind = "param"}
// CHECK-SAME: %[[WPE:[a-z0-9]+]]: tensor<4x4xf32> {hone.fqn = "wpe", hone.kind = "param"}
// CHECK-SAME: %[[TOKEN:[a-z0-9]+]]: tensor<i64> {hone.fqn = "token", hone.kind = "scalar"}
// CHECK-SAME: %[[POSITION:[a-z0-9]+]]: tensor<i64> {hone.fqn = "position", hone.kind = "scalar"}
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: tensor<1x4x2x2xf32> {hone.fqn = "key.0", hone.kind = "cache"}
// CHECK-SAME: %[[VALUES:[a-z0-9]+]]: tensor<1x4x2x2xf32> {hone.fqn = "value.0", hone.kind = "cache"}
// CHECK-SAME: -> (tensor<1x4x2x2xf32> {hone.donates = 4 : i64, hone.fqn = "key.0", hone.kind = "cache"}
// CHECK-SAME: tensor<1x4x2x2xf32> {hone.donates = 5 : i64, hone.fqn = "value.0", hone.kind = "cache"}
// CHECK-SAME: tensor<7xf32> {hone.kind = "logits"})
// CHECK: %[[IDS:.*]] = hone.broadcast %[[TOKEN]] dims [] : tensor<i64> -> tensor<1x1xi64>
// CHECK: hone.embedding %[[WTE]], %[[IDS]] : tensor<7x4xf32>, tensor<1x1xi64> -> tensor<1x1x4xf32>
// CHECK: %[[ROW:.*]] = hone.take_along %{{.*}}, %{{.*}} dim 0 : tensor<4x4xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
// CHECK: %[[NEW_KEYS:.*]] = hone.update_slice %[[KEYS]], %{{.*}} at %[[POSITION]] dim 1 : tensor<1x4x2x2xf32>, tensor<1x1x2x2xf32>
// CHECK: %[[NEW_VALUES:.*]] = hone.update_slice %[[VALUES]], %{{.*}} at %[[POSITION]] dim 1
// CHECK: hone.decode_attention %{{.*}}, %[[NEW_KEYS]], %[[NEW_VALUES]] at %[[POSITION]] scale 5.000000e-01
// CHECK: return %[[NEW_KEYS]], %[[NEW_VALUES]], %{{.*}} : tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<7xf32>
func.func @evaluate(
    %wte: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "wte"},
    %wpe: tensor<4x4xf32> {hone.kind = "param", hone.fqn = "wpe"},
    %t: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "t", hone.role = "tokens"},
    %y: tensor<2x4xi64> {hone.kind = "input", hone.fqn = "y", hone.role = "targets"})
    -> (tensor<f32> {hone.kind = "loss"}) {
  %e = hone.embedding %wte, %t : tensor<7x4xf32>, tensor<2x4xi64> -> tensor<2x4x4xf32>
  %p = hone.broadcast %wpe dims [1, 2] : tensor<4x4xf32> -> tensor<2x4x4xf32>
  %x = hone.add %e, %p : tensor<2x4x4xf32>
  %q = hone.reshape %x : tensor<2x4x4xf32> -> tensor<2x4x2x2xf32>
  %o, %lse = hone.attention %q, %q, %q causal scale 0.5
      : (tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>)
      -> (tensor<2x4x2x2xf32>, tensor<2x2x4xf32>)
  %o1 = hone.reshape %o : tensor<2x4x2x2xf32> -> tensor<2x4x4xf32>
  %l = hone.dot_general %o1, %wte batch [] x [] contract [2] x [1]
      : tensor<2x4x4xf32>, tensor<7x4xf32> -> tensor<2x4x7xf32>
  %loss, %z = hone.cross_entropy mean %l, %y ignore_index -100 label_smoothing 0.0
      : tensor<2x4x7xf32>, tensor<2x4xi64> -> tensor<f32>, tensor<2x4xf32>
  return %loss : tensor<f32>
}
