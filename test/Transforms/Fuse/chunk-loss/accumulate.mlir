// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4}))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-chunk-loss{chunk=4},hone-decompose-rows, \
// RUN:   canonicalize,cse,hone-fuse-groups,hone-verify-groups),hone-plan-memory,hone-verify-plan)' \
// RUN:   | FileCheck %s --check-prefix=PLAN

// The first chunk adds to the gradient so far, and each chunk to the sum before it, all at the argument's place. The
// other part of a tied weight's gradient comes after.

// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME:    %[[ACC:arg3]]: tensor<7x3xf32>
// CHECK:       %[[DW0:.*]] = hone.dot_general %{{.*}} contract [0] x [0]
// CHECK-NEXT:  %[[S0:.*]] = hone.add %[[DW0]], %[[ACC]]
// CHECK:       %[[DW1:.*]] = hone.dot_general %{{.*}} contract [0] x [0]
// CHECK-NEXT:  %[[S1:.*]] = hone.add %[[DW1]], %[[S0]]
// CHECK:       %[[TABLE:.*]] = hone.embedding_bwd
// CHECK-NEXT:  %[[GRAD:.*]] = hone.add %[[S1]], %[[TABLE]]
// CHECK-NOT:   hone.add
// CHECK:       return %{{.*}}, %[[GRAD]]

// PLAN: plan.argument "w" kind "grad" at [[AT:[0-9]+]]
// PLAN: %[[ACC:.*]] = plan.buffer at [[AT]]
// PLAN: plan.launch contraction ins(%{{.*}}, %{{.*}}, %[[ACC]] : {{.*}}) outs(%[[S0:.*]] :
// PLAN: %[[S1:.*]] = plan.buffer at [[AT]]
// PLAN: plan.launch contraction ins(%{{.*}}, %{{.*}}, %[[S0]] : {{.*}}) outs(%[[S1]] :
// PLAN: %[[GRAD:.*]] = plan.buffer at [[AT]]
// PLAN: plan.launch gather ins({{.*}}%[[S1]]{{.*}}) outs(%[[GRAD]] :
// PLAN-NOT: plan.launch data_movement
func.func @accumulate(%w: tensor<7x3xf32> {hone.kind = "param", hone.fqn = "w"},
    %ids: tensor<6xi64> {hone.kind = "input", hone.fqn = "ids"},
    %t: tensor<6xi64> {hone.kind = "input", hone.fqn = "t"},
    %acc: tensor<7x3xf32> {hone.kind = "grad", hone.fqn = "w"})
    -> (tensor<f32> {hone.kind = "loss"},
        tensor<7x3xf32> {hone.kind = "grad", hone.fqn = "w", hone.donates = 3 : i64}) {
  %g = hone.constant dense<0.5> : tensor<f32>
  %x = hone.embedding %w, %ids : tensor<7x3xf32>, tensor<6xi64> -> tensor<6x3xf32>
  %logits = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<6x3xf32>, tensor<7x3xf32> -> tensor<6x7xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<6x7xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<6x7xf32>, tensor<6xi64>, tensor<6xf32>) -> tensor<6x7xf32>
  %dx = hone.dot_general %d, %w batch [] x [] contract [1] x [0]
      : tensor<6x7xf32>, tensor<7x3xf32> -> tensor<6x3xf32>
  %dw = hone.dot_general %d, %x batch [] x [] contract [0] x [0]
      : tensor<6x7xf32>, tensor<6x3xf32> -> tensor<7x3xf32>
  %table = hone.embedding_bwd %dx, %ids : tensor<6x3xf32>, tensor<6xi64> -> tensor<7x3xf32>
  %both = hone.add %dw, %table : tensor<7x3xf32>
  %sum = hone.add %acc, %both : tensor<7x3xf32>
  return %loss, %sum : tensor<f32>, tensor<7x3xf32>
}
