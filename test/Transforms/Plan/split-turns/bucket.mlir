// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s
// RUN: sed -e 's/"backward_input", "backward_weight"]/"backward"]/' -e 's/grads = 1 : i64, //' %s \
// RUN:   | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s --check-prefix=ONE

// One sum over tp for two gradients, which lie in its operand. Where another function makes one of them, the operand is a copy.
// CHECK-LABEL: func.func @backward_input(
// CHECK: %[[BIAS:.*]]:2 = hone.fused row
// CHECK-LABEL: func.func @backward_weight(
// CHECK-SAME: %[[SAVED:[a-z0-9]*]]: tensor<8xf32> {dist.window = 1 : i64, hone.fqn = "saved.{{[0-9]}}", hone.kind = "saved"}
// CHECK: %[[PRODUCT:.*]] = hone.fused contraction
// CHECK-DAG: %[[ROWS:.*]] = hone.reshape %[[PRODUCT]] : tensor<8x8xf32> -> tensor<1x64xf32>
// CHECK-DAG: %[[ROW:.*]] = hone.reshape %[[SAVED]] : tensor<8xf32> -> tensor<1x8xf32>
// CHECK: %[[ALL:.*]] = hone.fused data_movement (%[[A:.*]] = %[[ROWS]] : tensor<1x64xf32>, %[[B:.*]] = %[[ROW]] : tensor<1x8xf32>)
// CHECK-NEXT: hone.concat %[[A]], %[[B]] dim 1
// CHECK: hone.fused collective ({{.*}} = %[[ALL]] :

// ONE-LABEL: func.func @backward(
// ONE-NOT: data_movement
// ONE: hone.concat
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 2 : i64, functions = ["forward", "backward_input", "backward_weight"],
          grads = 1 : i64, gradient_in = 2 : i64, saved = 2 : i64}} {
    dist.mesh @mesh [<"pp" = 2>, <"tp" = 2>]
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<1x72xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<1x72xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"}) {
      %h = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
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
      %dw = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %d#0 : tensor<4x8xf32>) -> tensor<8x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      %rows = hone.reshape %dw : tensor<8x8xf32> -> tensor<1x64xf32>
      %row = hone.reshape %d#1 : tensor<8xf32> -> tensor<1x8xf32>
      %bucket = hone.concat %rows, %row dim 1 : (tensor<1x64xf32>, tensor<1x8xf32>) -> tensor<1x72xf32>
      %all = hone.fused collective (%b0 = %bucket : tensor<1x72xf32>) -> tensor<1x72xf32> {
        %s = dist.all_reduce sum %b0 over ["tp"] : tensor<1x72xf32>
        hone.yield %s : tensor<1x72xf32>
      }
      %new = hone.fused map (%b0 = %sum : tensor<1x72xf32>, %b1 = %all : tensor<1x72xf32>) -> tensor<1x72xf32> {
        %s = hone.add %b0, %b1 : tensor<1x72xf32>
        hone.yield %s : tensor<1x72xf32>
      }
      return %new : tensor<1x72xf32>
    }
  }
}
