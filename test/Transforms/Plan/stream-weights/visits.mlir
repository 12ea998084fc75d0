// Weights of the second arena are read by reloads: one per visit of a layer, which ends where a kernel reads a weight of
// another one. Views are made of each; a weight without a layer is read as it is.
// RUN: hone-opt %s --hone-stream-weights | FileCheck %s
// RUN: hone-opt %s --hone-stream-weights --hone-plan-memory --hone-verify-plan | FileCheck %s --check-prefix=PLAN

// From its copy up to its last reader in a visit a weight keeps its memory.
// PLAN: plan.program @program arena 114688 host 65536

// Layer 0 has two weights, of which the forward kernels read one twice; layer 1 runs forward and backward in one visit.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[X:.+]]: tensor<64x64xf32> {hone.fqn = "x"
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4096xf32> {hone.fqn = "w"
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<64x64xf32> {hone.fqn = "v"
// CHECK-SAME: %[[U:[a-z0-9]+]]: tensor<64x64xf32> {hone.fqn = "u"
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<64x64xf32> {hone.fqn = "t"
// CHECK: %[[W0:.+]] = hone.fused data_movement ({{.+}} = %[[W]] : {{.+}} {hone.clone = 0 : i64, hone.reload}
// CHECK: %[[VIEW:.+]] = hone.reshape %[[W0]]
// CHECK: hone.fused contraction ({{.+}} = %[[X]] : {{.+}} = %[[VIEW]] :
// CHECK: %[[V0:.+]] = hone.fused data_movement ({{.+}} = %[[V]] : {{.+}} {hone.clone = 1 : i64, hone.reload}
// CHECK: hone.fused contraction {{.+}} = %[[V0]] :
// CHECK: hone.fused contraction {{.+}} = %[[VIEW]] :
// CHECK: %[[U0:.+]] = hone.fused data_movement ({{.+}} = %[[U]] : {{.+}} {hone.clone = 2 : i64, hone.reload}
// CHECK-NOT: hone.reload
// CHECK: hone.fused contraction {{.+}} = %[[U0]] :
// CHECK: hone.fused contraction {{.+}} = %[[T]] :
// CHECK: hone.fused contraction {{.+}} = %[[U0]] :
// CHECK: %[[V1:.+]] = hone.fused data_movement ({{.+}} = %[[V]] : {{.+}} {hone.clone = 3 : i64, hone.reload}
// CHECK: hone.fused contraction {{.+}} = %[[V1]] :
// CHECK: %[[W1:.+]] = hone.fused data_movement ({{.+}} = %[[W]] : {{.+}} {hone.clone = 4 : i64, hone.reload}
// CHECK: %[[AGAIN:.+]] = hone.reshape %[[W1]]
// CHECK: hone.fused contraction {{.+}} = %[[AGAIN]] :
func.func @accumulate(%x: tensor<64x64xf32> {hone.kind = "input", hone.fqn = "x"},
                      %w: tensor<4096xf32> {hone.kind = "param", hone.fqn = "w", plan.host, plan.layer = 0 : i64},
                      %v: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "v", plan.host, plan.layer = 0 : i64},
                      %u: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "u", plan.host, plan.layer = 1 : i64},
                      %t: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "t"})
    -> (tensor<64x64xf32> {hone.kind = "grad", hone.fqn = "w"}) {
  %m = hone.reshape %w : tensor<4096xf32> -> tensor<64x64xf32>
  %a = hone.fused contraction (%p = %x : tensor<64x64xf32>, %q = %m : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %b = hone.fused contraction (%p = %a : tensor<64x64xf32>, %q = %v : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %c = hone.fused contraction (%p = %b : tensor<64x64xf32>, %q = %m : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %d = hone.fused contraction (%p = %c : tensor<64x64xf32>, %q = %u : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %e = hone.fused contraction (%p = %d : tensor<64x64xf32>, %q = %t : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %f = hone.fused contraction (%p = %e : tensor<64x64xf32>, %q = %u : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %g = hone.fused contraction (%p = %f : tensor<64x64xf32>, %q = %v : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %h = hone.fused contraction (%p = %g : tensor<64x64xf32>, %q = %m : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  return %h : tensor<64x64xf32>
}

// An update reads the weight that it writes over as before.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<64x64xf32> {hone.fqn = "z"
// CHECK: %[[W0:.+]] = hone.fused data_movement ({{.+}} = %[[W]] :
// CHECK: hone.fused contraction {{.+}} = %[[W0]] :
// CHECK-NOT: hone.reload
// CHECK: hone.fused map ({{.+}} = %[[W]] :
func.func @step(%x: tensor<64x64xf32> {hone.kind = "input", hone.fqn = "x"},
                %w: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "z", plan.host, plan.layer = 0 : i64})
    -> (tensor<64x64xf32> {hone.kind = "param", hone.fqn = "z", hone.donates = 1 : i64}) {
  %a = hone.fused contraction (%p = %x : tensor<64x64xf32>, %q = %w : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.dot_general %p, %q batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  %n = hone.fused map (%p = %w : tensor<64x64xf32>, %q = %a : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = hone.sub %p, %q : tensor<64x64xf32>
    hone.yield %y : tensor<64x64xf32>
  }
  return %n : tensor<64x64xf32>
}
