// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s
// RUN: hone-opt %s --hone-apply-checkpoints --canonicalize --cse | FileCheck %s
// RUN: hone-opt %s --hone-apply-checkpoints --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=PLAN

// A result in hone.away is read by backward kernels, also as another shape, as the result of a reload right before the first
// of them. Forward kernels read the original.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>{{.*}}, %[[W:.*]]: tensor<64x64xf32>{{.*}}, %[[D:.*]]: tensor<64x64xf32>
// CHECK-NOT: hone.away
// CHECK: %[[E:.*]] = hone.fused map (%{{.*}} = %[[X]]
// CHECK: %[[P:.*]] = hone.fused contraction (%{{.*}} = %[[E]]
// CHECK: %[[S:.*]] = hone.fused map (%{{.*}} = %[[P]]
// CHECK: hone.fused map (%{{.*}} = %[[S]]
// CHECK: %[[BACK:.*]] = hone.fused data_movement (%[[IN:.*]] = %[[E]] : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.clone = 0 : i64, hone.reload}
// CHECK-NEXT: hone.yield %[[IN]]
// CHECK: hone.fused contraction (%{{.*}} = %[[BACK]]
// CHECK: hone.reshape %[[BACK]]

// The copy down begins behind the maker. Both copies have ended before the first backward reader, and nothing is launched
// for the reload.
// PLAN: plan.program @program arena {{[0-9]+}} host 16384
// PLAN: plan.launch map
// PLAN: plan.copy down %{{[a-z_0-9]+}} at 0 token 1 : memref<64x64xf32>
// PLAN: plan.launch contraction
// PLAN: plan.wait 1
// PLAN: plan.copy up %[[TO:[a-z_0-9]+]] at 0 token 0 : memref<64x64xf32>
// PLAN: plan.wait 0
// PLAN: plan.launch contraction ins(%[[TO]],
// PLAN-NOT: data_movement
func.func @step(%x: tensor<64x64xf32> {hone.kind = "input", hone.fqn = "x"}, %w: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w"},
                %d: tensor<64x64xf32> {hone.kind = "input", hone.fqn = "d"}) ->
    (tensor<64x64xf32> {hone.kind = "grad", hone.fqn = "w"}, tensor<64x64xf32> {hone.kind = "grad", hone.fqn = "x"})
    attributes {hone.schedule = "f0 b0"} {
  %e = hone.fused map (%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.forward = array<i64: 0>, hone.away = array<i64: 0>} {
    %0 = hone.exp %a : tensor<64x64xf32>
    hone.yield %0 : tensor<64x64xf32>
  }
  %p = hone.fused contraction (%a = %e : tensor<64x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.forward = array<i64: 0>} {
    %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %0 : tensor<64x64xf32>
  }
  %s = hone.fused map (%a = %p : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.forward = array<i64: 0>} {
    %0 = hone.tanh %a : tensor<64x64xf32>
    hone.yield %0 : tensor<64x64xf32>
  }
  %g = hone.fused map (%a = %s : tensor<64x64xf32>, %b = %d : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.backward = 0} {
    %0 = hone.mul %a, %b : tensor<64x64xf32>
    hone.yield %0 : tensor<64x64xf32>
  }
  %gw = hone.fused contraction (%a = %e : tensor<64x64xf32>, %b = %g : tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hone.backward = 0} {
    %0 = hone.dot_general %a, %b batch [] x [] contract [0] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %0 : tensor<64x64xf32>
  }
  %flat = hone.reshape %e : tensor<64x64xf32> -> tensor<4096xf32>
  %gf = hone.fused map (%a = %flat : tensor<4096xf32>) -> tensor<4096xf32> attributes {hone.backward = 0} {
    %0 = hone.neg %a : tensor<4096xf32>
    hone.yield %0 : tensor<4096xf32>
  }
  %gx = hone.reshape %gf : tensor<4096xf32> -> tensor<64x64xf32>
  return %gw, %gx : tensor<64x64xf32>, tensor<64x64xf32>
}
