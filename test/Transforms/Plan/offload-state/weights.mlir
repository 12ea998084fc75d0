// With what=weights, working copies that kernels read lie in the second arena, too, and parameters without one. What is small,
// a table whose rows a kernel picks, and what is returned as it is stays. The update copies a new copy down with its part.
// RUN: hone-opt %s --hone-offload-state="what=weights chunk=1 least=128" --split-input-file | FileCheck %s
// RUN: hone-opt %s --hone-offload-state="what=weights chunk=1 least=128" --hone-stream-weights --hone-plan-memory --hone-verify-plan --split-input-file | FileCheck %s --check-prefix=PLAN
// RUN: hone-opt %s --hone-offload-state="what=state chunk=1" --split-input-file | FileCheck %s --check-prefix=STATE

// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: hone.fqn = "w", hone.kind = "working_copy", plan.host, plan.layer = 0 : i64}
// CHECK-SAME: hone.fqn = "small", hone.kind = "param"},
// CHECK-SAME: hone.fqn = "table", hone.kind = "param"},
// CHECK-SAME: hone.fqn = "plain", hone.kind = "param", plan.host, plan.layer = 1 : i64}
// CHECK-LABEL: func.func @update(
// CHECK-SAME: hone.fqn = "w", hone.kind = "param", plan.host}
// CHECK-SAME: hone.fqn = "w", hone.kind = "working_copy", plan.host, plan.layer = 0 : i64}
// STATE-LABEL: func.func @accumulate(
// STATE-NOT: plan.host
// STATE-LABEL: func.func @update(
// STATE-SAME: hone.fqn = "w", hone.kind = "param", plan.host}
// STATE-SAME: hone.fqn = "w", hone.kind = "working_copy"}

// PLAN: plan.argument "w" kind "working_copy" host at 0 : tensor<8x8xbf16>
// PLAN-LABEL: plan.function @update
// PLAN: plan.copy up %[[W:.+]] at [[AT:[0-9]+]] token 0 : memref<8x8xf32>
// PLAN: plan.wait 0
// PLAN: plan.launch multi_tensor ins(%[[W]], {{.+}} outs(%{{.+}}, %[[COPY:[a-z_0-9.]+]] : memref<8x8xf32>, memref<8x8xbf16>)
// PLAN: plan.copy down %{{.+}} at [[AT]] token 1 : memref<8x8xf32>
// PLAN-NEXT: plan.copy down %[[COPY]] at 0 token 1 : memref<8x8xbf16>
// PLAN-NEXT: plan.wait 1

func.func @accumulate(%x: tensor<8x8xbf16> {hone.kind = "input", hone.fqn = "x"},
                      %ids: tensor<8xi64> {hone.kind = "input", hone.fqn = "ids"},
                      %w: tensor<8x8xbf16> {hone.kind = "working_copy", hone.fqn = "w"},
                      %small: tensor<8xf32> {hone.kind = "param", hone.fqn = "small"},
                      %table: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "table"},
                      %plain: tensor<8x8xbf16> {hone.kind = "param", hone.fqn = "plain"})
    -> (tensor<8x8xbf16> {hone.kind = "grad", hone.fqn = "w"}, tensor<8x8xf32> {hone.kind = "grad", hone.fqn = "table"}) {
  %0 = hone.fused contraction (%p = %x : tensor<8x8xbf16>, %q = %w : tensor<8x8xbf16>) -> tensor<8x8xbf16> {
    %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8x8xbf16>, tensor<8x8xbf16> -> tensor<8x8xbf16>
    hone.yield %r : tensor<8x8xbf16>
  }
  %1 = hone.fused contraction (%p = %0 : tensor<8x8xbf16>, %q = %plain : tensor<8x8xbf16>) -> tensor<8x8xbf16> {
    %r = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<8x8xbf16>, tensor<8x8xbf16> -> tensor<8x8xbf16>
    hone.yield %r : tensor<8x8xbf16>
  }
  %2 = hone.fused row (%p = %table : tensor<8x8xf32>, %q = %ids : tensor<8xi64>, %s = %small : tensor<8xf32>) -> tensor<8x8xf32> {
    %r = hone.embedding %p, %q : tensor<8x8xf32>, tensor<8xi64> -> tensor<8x8xf32>
    %b = hone.broadcast %s dims [1] : tensor<8xf32> -> tensor<8x8xf32>
    %t = hone.mul %r, %b : tensor<8x8xf32>
    hone.yield %t : tensor<8x8xf32>
  }
  return %1, %2 : tensor<8x8xbf16>, tensor<8x8xf32>
}

func.func @update(%w: tensor<8x8xf32> {hone.kind = "param", hone.fqn = "w"},
                  %g: tensor<8x8xbf16> {hone.kind = "grad", hone.fqn = "w"},
                  %lr: tensor<f32> {hone.kind = "scalar", hone.fqn = "lr"},
                  %c: tensor<8x8xbf16> {hone.kind = "working_copy", hone.fqn = "w"}) ->
    (tensor<8x8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
     tensor<8x8xbf16> {hone.kind = "working_copy", hone.fqn = "w", hone.donates = 3 : i64}) {
  %0:2 = hone.fused multi_tensor (%p = %w : tensor<8x8xf32>, %q = %g : tensor<8x8xbf16>, %s = %lr : tensor<f32>)
      -> (tensor<8x8xf32>, tensor<8x8xbf16>) {
    %n, %m = hone.sgd %p, %q lr %s weight_decay %s grad_scale %s
        : (tensor<8x8xf32>, tensor<8x8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xbf16>)
    hone.yield %n, %m : tensor<8x8xf32>, tensor<8x8xbf16>
  }
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xbf16>
}
