// In a mesh-invariant module, two places that read a parameter have a sum of gradients over micro-batches each.
// RUN: hone-opt %s --hone-autodiff="seed=0.5" --hone-build-step="micro-batches=2" | FileCheck %s
// RUN: sed 's/hone.mesh_invariant, //' %s | hone-opt --hone-autodiff="seed=0.5" --hone-build-step="micro-batches=2" \
// RUN:   | FileCheck %s --check-prefix=DEFAULT

// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: tensor<16x32xf32> {hone.fqn = "table", hone.kind = "grad"}
// CHECK-SAME: %[[SECOND:[a-z0-9]+]]: tensor<16x32xf32> {hone.fqn = "table#2", hone.kind = "grad"}
// CHECK: %[[FIRST_TERM:.*]] = hone.dot_general {{.*}} -> tensor<16x32xf32>
// CHECK: %[[SECOND_TERM:.*]] = hone.embedding_bwd
// CHECK: %[[A:.*]] = hone.add %[[FIRST]], %[[FIRST_TERM]]
// CHECK: %[[B:.*]] = hone.add %[[SECOND]], %[[SECOND_TERM]]
// CHECK: return %[[A]], %[[B]],
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: tensor<16x32xf32> {hone.fqn = "table", hone.kind = "grad"}
// CHECK-SAME: %[[SECOND:[a-z0-9]+]]: tensor<16x32xf32> {hone.fqn = "table#2", hone.kind = "grad"}
// CHECK: %[[SUM:.*]] = hone.add %[[FIRST]], %[[SECOND]]
// CHECK: hone.global_norm %[[SUM]]
// CHECK: hone.adamw {{.*}}%[[SUM]]
// DEFAULT-NOT: table#2
module attributes {hone.mesh_invariant, hone.target = "cpu znver4"} {
  func.func @forward(
      %table: tensor<16x32xf32> {hone.kind = "param", hone.fqn = "table", hone.requires_grad},
      %ids: tensor<8xi64> {hone.kind = "input", hone.fqn = "ids", hone.vocab = 16 : i64})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %h = hone.embedding %table, %ids : tensor<16x32xf32>, tensor<8xi64> -> tensor<8x32xf32>
    %logits = hone.dot_general %h, %table batch [] x [] contract [1] x [1] : tensor<8x32xf32>, tensor<16x32xf32> -> tensor<8x16xf32>
    %loss = hone.reduce sum %logits dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
