// When copies of a moved value run: 4 MiB take 101 us at 45 GB/s, a product some 43 us. The copy down begins behind the
// value's maker and is waited for three products later; the copy up begins so many products before the reload that it is in
// time.
// RUN: hone-opt %s --hone-apply-checkpoints --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK: plan.program @program arena 20971520 host 4194304
// CHECK: plan.launch map
// CHECK: plan.copy down %{{[a-z_0-9]+}} at 0 token 1 : memref<1024x1024xf32>
// CHECK-NOT: plan.wait
// CHECK-COUNT-3: plan.launch contraction
// CHECK: plan.wait 1
// CHECK-COUNT-4: plan.launch contraction
// CHECK: plan.copy up %[[TO:[a-z_0-9]+]] at 0 token 0 : memref<1024x1024xf32>
// CHECK-NOT: plan.wait
// CHECK-COUNT-3: plan.launch contraction
// CHECK: plan.wait 0
// CHECK: plan.launch contraction ins(%[[TO]],
// CHECK-NOT: plan.launch
module attributes {hone.target = "cuda sm_90"} {
  func.func @step(%x: tensor<1024x1024xf32> {hone.kind = "input", hone.fqn = "x"}, %w: tensor<1024x1024xf32> {hone.kind = "param", hone.fqn = "w"}) ->
      (tensor<1024x1024xf32> {hone.kind = "grad", hone.fqn = "w"}) attributes {hone.schedule = "f0 b0"} {
    %e = hone.fused map (%a = %x : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>, hone.away = array<i64: 0>} {
      %0 = hone.exp %a : tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %p1 = hone.fused contraction (%a = %e : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %p2 = hone.fused contraction (%a = %p1 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %p3 = hone.fused contraction (%a = %p2 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %p4 = hone.fused contraction (%a = %p3 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %p5 = hone.fused contraction (%a = %p4 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.forward = array<i64: 0>} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %q1 = hone.fused contraction (%a = %p5 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %q2 = hone.fused contraction (%a = %q1 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %q3 = hone.fused contraction (%a = %q2 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %q4 = hone.fused contraction (%a = %q3 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %q5 = hone.fused contraction (%a = %q4 : tensor<1024x1024xf32>, %b = %w : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    %gw = hone.fused contraction (%a = %e : tensor<1024x1024xf32>, %b = %q5 : tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {hone.backward = 0} {
      %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
      hone.yield %0 : tensor<1024x1024xf32>
    }
    return %gw : tensor<1024x1024xf32>
  }
}
