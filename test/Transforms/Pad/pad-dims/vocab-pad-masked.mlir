// A tied vocabulary of 13: the loss and its gradient count 13 classes of 16, files see 13 rows.
// RUN: hone-opt %s --hone-pad-dims="multiple=8" --hone-verify-pad | FileCheck %s
// RUN: %python %S/equal.py %s %t 8 autodiff | FileCheck %s --check-prefix=EQUAL
// REQUIRES: hone-run

// EQUAL-COUNT-4: equal

// CHECK-LABEL: @forward
// CHECK-SAME: %[[TABLE:.+]]: tensor<16x8xf32> {hone.aliases = ["head"]
// CHECK-SAME: hone.parts = [#hone.part<"wte", offset = [0, 0], shape = [13, 8]>]
// CHECK-NOT: hone.select
// CHECK-NOT: hone.slice
// CHECK-NOT: hone.pad
// CHECK: hone.embedding %[[TABLE]], %{{.+}} : tensor<16x8xf32>
// CHECK: hone.dot_general %{{.+}}, %[[TABLE]] {{.+}} -> tensor<2x5x16xf32>
// CHECK: hone.cross_entropy mean %{{.+}} label_smoothing 1.250000e-01 width 13 : tensor<2x5x16xf32>
func.func @forward(
    %w: tensor<13x8xf32> {hone.kind = "param", hone.fqn = "wte", hone.requires_grad, hone.init = {dist = "normal", mean = 0.0 : f64, std = 1.0 : f64}, hone.aliases = ["head"]},
    %tokens: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "tokens", hone.role = "tokens", hone.vocab = 13 : i64}, %targets: tensor<2x5xi64> {hone.kind = "input", hone.fqn = "targets", hone.role = "targets", hone.vocab = 13 : i64}) -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.embedding %w, %tokens : tensor<13x8xf32>, tensor<2x5xi64> -> tensor<2x5x8xf32>
  %l = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
      : tensor<2x5x8xf32>, tensor<13x8xf32> -> tensor<2x5x13xf32>
  %loss, %lse = hone.cross_entropy mean %l, %targets ignore_index -100 label_smoothing 0.125
      : tensor<2x5x13xf32>, tensor<2x5xi64> -> tensor<f32>, tensor<2x5xf32>
  return %loss : tensor<f32>
}
