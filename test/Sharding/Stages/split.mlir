// The functions of two stages with a parameter that both read: what each takes, hands on and returns.
// RUN: hone-opt %s --dist-split-stages | FileCheck %s

// CHECK: module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 4 : i64}
module attributes {dist.stages = 2 : i64, hone.micro_batches = 4 : i64} {
// CHECK: module @stage0 attributes {dist.stage = 0 : i64, dist.turns = {{.*}}, hone.micro_batches = 4 : i64}
  // CHECK: func.func @accumulate(%[[W:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "param"},
  // CHECK-SAME: %[[X:[^:]*]]: tensor<8xf32> {hone.fqn = "x", hone.kind = "input"},
  // CHECK-SAME: %[[SUM:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"})
  // CHECK-SAME: -> (tensor<8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"})
  // CHECK: %[[H:.*]] = hone.mul %[[W]], %[[X]]
  // CHECK-NEXT: %[[G:.*]] = dist.turn %[[H]] to 1
  // CHECK-NEXT: %[[GW:.*]] = hone.mul %[[G]], %[[X]]
  // The other part of its gradient is in the other stage.
  // CHECK-NEXT: %[[NEW:.*]] = hone.add %[[SUM]], %[[GW]]
  // CHECK-NEXT: return %[[NEW]]

  // CHECK: func.func @evaluate(
  // CHECK-SAME: -> (tensor<8xf32> {hone.fqn = "stage1", hone.kind = "boundary"})

  // CHECK: func.func @update(
  // CHECK-SAME: %[[OWN:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"},
  // CHECK-SAME: %[[OTHER:[^:]*]]: tensor<8xf32> {hone.fqn = "stage1.w", hone.kind = "grad"},
  // CHECK-SAME: %[[LOSS:[^:]*]]: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"})
  // CHECK-NEXT: %[[ALL:.*]] = hone.add %[[OWN]], %[[OTHER]]
  // CHECK-NEXT: %[[N:.*]] = hone.global_norm %[[ALL]]
  // All its gradients are of stage 0, so the norm is a term as it is.
  // CHECK: %[[TERM:.*]] = hone.reshape %[[N]]
  // CHECK-NEXT: %[[TERMS:.*]] = hone.concat %{{.*}}, %[[TERM]]
  // CHECK-NEXT: %[[SUM:.*]] = dist.stage_sum %[[TERMS]]
  // CHECK-NEXT: %[[PART:.*]] = hone.slice %[[SUM]] [1] to [2]
  // CHECK-NEXT: %[[NORM:.*]] = hone.reshape %[[PART]]
  // CHECK-NEXT: %[[PART0:.*]] = hone.slice %[[SUM]] [0] to [1]
  // CHECK-NEXT: %[[TOTAL:.*]] = hone.reshape %[[PART0]]
  // CHECK-NEXT: return %[[ALL]], %[[NORM]], %[[TOTAL]]

// CHECK: module @stage1 attributes {dist.stage = 1 : i64, dist.turns = {{.*}}, hone.micro_batches = 4 : i64}
  // CHECK: func.func @accumulate(%[[W1:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "working_copy"},
  // CHECK-SAME: %[[S1:[^:]*]]: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"},
  // CHECK-SAME: %[[H1:[^:]*]]: tensor<8xf32> {hone.fqn = "stage1", hone.kind = "boundary"},
  // CHECK-SAME: %[[SUM1:[^:]*]]: tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"})
  // CHECK: hone.mul %[[H1]], %[[W1]]
  // CHECK: %[[NEWLOSS:.*]] = hone.add %[[S1]],
  // CHECK: %[[GH:.*]] = hone.mul %{{.*}}, %[[W1]]
  // CHECK: %[[GW1:.*]] = hone.mul %{{.*}}, %[[H1]]
  // CHECK: %[[NEW1:.*]] = hone.add %[[SUM1]], %[[GW1]]
  // CHECK: return %[[NEWLOSS]], %[[GH]], %[[NEW1]]
  // CHECK: func.func @evaluate(
  // CHECK-SAME: {hone.fqn = "stage1", hone.kind = "boundary"}) -> (tensor<f32> {hone.kind = "loss"})
  // No parameter is its own.
  // CHECK: func.func @update(%[[LOSS1:[^:]*]]: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"})
  // CHECK: %[[ZERO:.*]] = hone.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: dist.stage_sum %{{.*}} : tensor<2xf32>
  // CHECK-NOT: dist.stage_sum
  func.func @accumulate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"},
      %sum: tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"},
      %losses: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<8xf32> {hone.kind = "grad", hone.fqn = "w", hone.donates = 2 : i64},
          tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 3 : i64}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %w1 = dist.boundary %w of "w" from 0 to 1 : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    %y = hone.mul %h1, %w1 : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    %new_loss = hone.add %losses, %loss : tensor<f32>
    %one = hone.constant dense<1.0> : tensor<8xf32>
    %g1 = hone.mul %one, %w1 : tensor<8xf32>
    %gw1 = hone.mul %one, %h1 : tensor<8xf32>
    %g = dist.boundary %g1 from 1 to 0 : tensor<8xf32>
    %gw0 = hone.mul %g, %x : tensor<8xf32>
    %gw10 = dist.boundary %gw1 of "w" from 1 to 0 : tensor<8xf32>
    %gw = hone.add %gw10, %gw0 : tensor<8xf32>
    %new = hone.add %sum, %gw : tensor<8xf32>

    return %new, %new_loss : tensor<8xf32>, tensor<f32>
  }
  func.func @evaluate(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"})
      -> (tensor<f32> {hone.kind = "loss"}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %w1 = dist.boundary %w of "w" from 0 to 1 : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    %y = hone.mul %h1, %w1 : tensor<8xf32>
    %loss = hone.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
  func.func @update(
      %w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"}, %g: tensor<8xf32> {hone.kind = "grad", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
          tensor<f32> {hone.kind = "grad_norm"}) {
    %norm = hone.global_norm %g : (tensor<8xf32>) -> tensor<f32>
    return %g, %norm : tensor<8xf32>, tensor<f32>
  }
}
