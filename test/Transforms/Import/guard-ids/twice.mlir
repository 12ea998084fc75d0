// RUN: hone-opt %s --split-input-file --hone-bound-ids --hone-guard-ids --hone-verify-raise -o %t.once
// RUN: hone-opt %s --split-input-file --hone-bound-ids --hone-guard-ids --hone-bound-ids --hone-guard-ids --hone-verify-raise -o %t.twice
// RUN: cmp %t.once %t.twice
// RUN: FileCheck %s < %t.twice

// What is guarded is proven: guards are not guarded, also where a loss ignores an id.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "ids.0"
// CHECK-SAME: hone.fqn = "ids.1"
// CHECK-NOT: ids.2
func.func @forward(
    %w: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %logits: tensor<6x7xf32> {hone.kind = "input", hone.fqn = "logits"},
    %t: tensor<6xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %one = hone.constant dense<1> : tensor<6xi64>
  %ids = hone.add %t, %one : tensor<6xi64>
  %a = hone.embedding %w, %ids : tensor<7x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %loss, %lse = hone.cross_entropy sum %logits, %ids ignore_index -100 label_smoothing 0.0 : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  %sum = hone.reduce sum %a dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %y = hone.add %sum, %loss : tensor<f32>
  return %y : tensor<f32>
}

// -----

// A check that is added counts on from those that are there.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: hone.fqn = "ids.0"
// CHECK-SAME: hone.fqn = "ids.1"
func.func @forward(
    %w: tensor<7x4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<6xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<f32> {hone.kind = "loss"}, tensor<i64> {hone.kind = "id_check", hone.fqn = "ids.0", hone.ids = {op = "embedding", size = 7 : i64, source = ""}}) {
  %none = hone.constant dense<0> : tensor<i64>
  %ids = hone.cast %x : tensor<6xf32> -> tensor<6xi64>
  %a = hone.embedding %w, %ids : tensor<7x4xf32>, tensor<6xi64> -> tensor<6x4xf32>
  %sum = hone.reduce sum %a dims [0, 1] : tensor<6x4xf32> -> tensor<f32>
  return %sum, %none : tensor<f32>, tensor<i64>
}
