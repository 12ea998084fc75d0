// RUN: hone-opt %s --hone-autodiff --canonicalize | FileCheck %s

// A table that is also the head: the gradients of both uses add up, the later use first.

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor{{.*}}, %[[IDS:[a-z0-9]+]]: tensor
// CHECK-DAG: %[[HEAD:.+]] = hone.dot_general %[[DX:.+]], %{{.+}} batch [] x [] contract [0] x [0] : {{.*}}-> tensor<61x8xf32>
// CHECK-DAG: %[[TABLE:.+]] = hone.embedding_bwd %{{.+}}, %[[IDS]] : {{.*}}-> tensor<61x8xf32>
// CHECK: %[[SUM:.+]] = hone.add %[[HEAD]], %[[TABLE]]
// CHECK-NEXT: return %{{.+}}, %[[SUM]]

func.func @forward(%w: tensor<61x8xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %ids: tensor<16xi64> {hone.kind = "input", hone.fqn = "ids"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %x = hone.embedding %w, %ids : tensor<61x8xf32>, tensor<16xi64> -> tensor<16x8xf32>
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1] : tensor<16x8xf32>, tensor<61x8xf32> -> tensor<16x61xf32>
  %loss, %lse = hone.cross_entropy mean %y, %ids ignore_index -100 label_smoothing 0.0 : tensor<16x61xf32>, tensor<16xi64> -> tensor<f32>, tensor<16xf32>
  return %loss : tensor<f32>
}
