// RUN: hone-opt %s --hone-working-copies --split-input-file | FileCheck %s

// SGD without momentum: the working copy is the second result. Two casts to one type, one working copy; a cast to another type and
// one of an input stay.
// CHECK-LABEL: @step
// CHECK-SAME: %[[S:arg[0-9]+]]: tensor<4xbf16> {hone.fqn = "w", hone.kind = "working_copy"})
func.func @step(
    %w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<4xf32> {hone.kind = "input", hone.fqn = "x"},
    %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"})
    -> (tensor<4xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}, tensor<f32> {hone.kind = "loss"}) {
  %a = hone.cast %w : tensor<4xf32> -> tensor<4xbf16>
  %b = hone.cast %w : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-DAG: %[[H:.+]] = hone.cast %arg0 : tensor<4xf32> -> tensor<4xf16>
  // CHECK-DAG: %[[X:.+]] = hone.cast %arg1 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-NOT: hone.cast
  %h = hone.cast %w : tensor<4xf32> -> tensor<4xf16>
  %c = hone.cast %x : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: hone.dot_general %[[S]], %[[X]]
  // CHECK: hone.dot_general %[[S]], %[[S]]
  // CHECK: hone.dot_general %[[H]], %[[H]]
  %p = hone.dot_general %a, %c batch [] x [] contract [0] x [0] : tensor<4xbf16>, tensor<4xbf16> -> tensor<f32>
  %q = hone.dot_general %a, %b batch [] x [] contract [0] x [0] : tensor<4xbf16>, tensor<4xbf16> -> tensor<f32>
  %r = hone.dot_general %h, %h batch [] x [] contract [0] x [0] : tensor<4xf16>, tensor<4xf16> -> tensor<f32>
  %pq = hone.add %p, %q : tensor<f32>
  %loss = hone.add %pq, %r : tensor<f32>
  // CHECK: %[[NEW:.+]], %[[LOW:.+]] = hone.sgd %arg0, %arg1 {{.*}} -> (tensor<4xf32>, tensor<4xbf16>)
  %new = hone.sgd %w, %x lr %lr weight_decay %lr grad_scale %lr
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: return %[[NEW]], %{{.+}}, %[[LOW]] : tensor<4xf32>, tensor<f32>, tensor<4xbf16>
  return %new, %loss : tensor<4xf32>, tensor<f32>
}

// -----

// Nothing to working copy: a cast that widens, and casts in @evaluate alone.
// CHECK-NOT: "working_copy"
func.func @evaluate(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}) -> tensor<f32> {
  %a = hone.cast %w : tensor<4xf32> -> tensor<4xbf16>
  %p = hone.dot_general %a, %a batch [] x [] contract [0] x [0] : tensor<4xbf16>, tensor<4xbf16> -> tensor<f32>
  return %p : tensor<f32>
}
func.func @step(%w: tensor<4xf32> {hone.kind = "param", hone.fqn = "w"}) -> tensor<4xf64> {
  %a = hone.cast %w : tensor<4xf32> -> tensor<4xf64>
  return %a : tensor<4xf64>
}
