// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s

// On a GPU sums of many gradients are one group. Each part makes those of its own gradients, so that no gradient is kept to
// be added: only what the product reads.
// CHECK-LABEL: func.func @backward_input(
// CHECK-SAME: %[[SUM:[a-z0-9]*]]: tensor<8xf32> {hone.fqn = "b", hone.kind = "grad"}
// CHECK: %[[MADE:.*]]:2 = hone.fused row
// CHECK: %[[NEW:.*]] = hone.fused multi_tensor (%[[X:.*]] = %[[SUM]] : tensor<8xf32>, %[[Y:.*]] = %[[MADE]]#1 : tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: hone.add %[[X]], %[[Y]]
// CHECK: return {{.*}}%[[NEW]]
// CHECK-LABEL: func.func @backward_weight(
// CHECK-SAME: hone.fqn = "saved.0"
// CHECK-NOT: hone.fqn = "saved.1"
// CHECK: %[[PRODUCT:.*]] = hone.fused contraction
// CHECK: hone.fused multi_tensor ({{.*}} = %[[PRODUCT]] : tensor<8xf32>) -> tensor<8xf32>
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 2 : i64, functions = ["forward", "backward_input", "backward_weight"],
          grads = 1 : i64, gradient_in = 2 : i64, saved = 2 : i64}} {
    dist.mesh @mesh [<"pp" = 2>]
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %v: tensor<4xf32> {hone.fqn = "v", hone.kind = "param"}, %one: tensor<8xf32> {hone.fqn = "w", hone.kind = "grad"},
        %two: tensor<8xf32> {hone.fqn = "b", hone.kind = "grad"})
        -> (tensor<8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"},
            tensor<8xf32> {hone.donates = 3 : i64, hone.fqn = "b", hone.kind = "grad"}) {
      %h = hone.fused map (%b0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.tanh %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %g = hone.fused collective (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %d:2 = hone.fused row (%b0 = %g : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
        %s = hone.tanh %b0 : tensor<4x8xf32>
        %r = hone.reduce sum %s dims [0] : tensor<4x8xf32> -> tensor<8xf32>
        hone.yield %s, %r : tensor<4x8xf32>, tensor<8xf32>
      }
      %dw = hone.fused contraction (%b0 = %v : tensor<4xf32>, %b1 = %d#0 : tensor<4x8xf32>) -> tensor<8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<4xf32>, tensor<4x8xf32> -> tensor<8xf32>
        hone.yield %s : tensor<8xf32>
      }
      %new:2 = hone.fused multi_tensor (%b0 = %one : tensor<8xf32>, %b1 = %dw : tensor<8xf32>, %b2 = %two : tensor<8xf32>,
          %b3 = %d#1 : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
        %s = hone.add %b0, %b1 : tensor<8xf32>
        %t = hone.add %b2, %b3 : tensor<8xf32>
        hone.yield %s, %t : tensor<8xf32>, tensor<8xf32>
      }
      return %new#0, %new#1 : tensor<8xf32>, tensor<8xf32>
    }
  }
}
