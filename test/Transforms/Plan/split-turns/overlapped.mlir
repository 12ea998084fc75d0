// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s
// RUN: sed 's/overlapped, //' %s | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" \
// RUN:   | FileCheck %s --check-prefix=APART

// Where the backward part runs together with another forward part, the inputs in place are that one's: the forward part keeps its own.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"}
// CHECK-SAME: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: -> (tensor<4x8xf32> {hone.donates = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK: return %[[X]],
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[SAVED:[a-z0-9]+]]: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-NOT: hone.kind = "input"
// CHECK: hone.fused contraction (%{{.*}} = %[[SAVED]] :

// APART-NOT: hone.kind = "saved"
// APART-LABEL: func.func @backward(
// APART-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"}
// APART: hone.fused contraction (%{{.*}} = %[[X]] :
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 2 : i64, functions = ["forward", "backward"], gradient_in = 2 : i64, overlapped, saved = 2 : i64}} {
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<8x8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"}) {
      %h = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %g = hone.fused collective (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %new = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %g : tensor<4x8xf32>, %b2 = %sum : tensor<8x8xf32>)
          -> tensor<8x8xf32> {
        %p = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
        %s = hone.add %p, %b2 : tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      return %new : tensor<8x8xf32>
    }
  }
}
