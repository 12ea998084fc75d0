// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s
// RUN: sed 's/"backward"]/"backward_input", "backward_weight"], grads = 1 : i64/' %s \
// RUN:   | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s --check-prefix=ZERO

// Two micro-batches are between @forward and @backward at a time: a window of 2. What is handed on is read by the backward part
// too, so its window is larger instead of a copy. The view of %a is made again.
// CHECK-LABEL: module @stage0
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"}
// CHECK-SAME: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: tensor<4x8xf32> {dist.window = 4 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
// CHECK-SAME: -> (tensor<4x8xf32> {hone.donates = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: tensor<f32> {hone.fqn = "check", {{.*}}hone.kind = "id_check"}
// CHECK-SAME: tensor<4x8xf32> {hone.donates = 3 : i64, hone.fqn = "stage1", hone.kind = "boundary"})
// CHECK: %[[A:.*]] = hone.fused map (%{{.*}} = %[[X]] :
// CHECK: %[[H:.*]] = hone.fused contraction
// CHECK: hone.fused row
// CHECK-NOT: dist.turn
// CHECK: return %[[A]], %{{.*}}, %[[H]]
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[G:.*]]: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "stage1.grad", hone.kind = "boundary"}
// CHECK-SAME: %[[OUT:.*]]: tensor<4x8xf32> {dist.window = 4 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
// CHECK-SAME: %[[SAVED:.*]]: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "saved.0", hone.kind = "saved"}
// CHECK-SAME: -> (tensor<8x8xf32> {hone.donates = {{[0-9]}} : i64, hone.fqn = "w", hone.kind = "grad"})
// CHECK: %[[GATED:.*]] = hone.fused map (%{{.*}} = %[[G]] : tensor<4x8xf32>, %{{.*}} = %[[OUT]] :
// CHECK: %[[VIEW:.*]] = hone.reshape %[[SAVED]] : tensor<4x8xf32> -> tensor<2x2x8xf32>
// CHECK: hone.fused contraction (%{{.*}} = %[[VIEW]] :

// The gradient of the weight is a function of its own, which reads what both others keep.
// ZERO-LABEL: func.func @backward_input(
// ZERO-SAME: tensor<4x8xf32> {dist.window = 1 : i64, hone.fqn = "saved.1", hone.kind = "saved"}
// ZERO-SAME: -> (tensor<4x8xf32> {{{.*}}hone.fqn = "saved.1", hone.kind = "saved"})
// ZERO: hone.fused map
// ZERO-NOT: contraction
// ZERO-LABEL: func.func @backward_weight(
// ZERO: hone.fused contraction
// ZERO-NOT: hone.fused
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 2 : i64, functions = ["forward", "backward"], gradient_in = 2 : i64, saved = 2 : i64}} {
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<8x8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"},
            tensor<f32> {hone.fqn = "check", hone.kind = "id_check", hone.ids = {op = "o", source = "s", size = 1 : i64}}) {
      %a = hone.fused map (%b0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.tanh %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %h = hone.fused contraction (%b0 = %a : tensor<4x8xf32>, %b1 = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %check = hone.fused row (%b0 = %x : tensor<4x8xf32>) -> tensor<f32> {
        %s = hone.reduce max %b0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
        hone.yield %s : tensor<f32>
      }
      %g = hone.fused collective (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %gated = hone.fused map (%b0 = %g : tensor<4x8xf32>, %b1 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.mul %b0, %b1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %av = hone.reshape %a : tensor<4x8xf32> -> tensor<2x2x8xf32>
      %gv = hone.reshape %gated : tensor<4x8xf32> -> tensor<2x2x8xf32>
      %new = hone.fused contraction (%b0 = %av : tensor<2x2x8xf32>, %b1 = %gv : tensor<2x2x8xf32>,
          %b2 = %sum : tensor<8x8xf32>) -> tensor<8x8xf32> {
        %p = hone.dot_general %b0, %b1 batch [] x [] contract [0, 1] x [0, 1]
            : tensor<2x2x8xf32>, tensor<2x2x8xf32> -> tensor<8x8xf32>
        %s = hone.add %p, %b2 : tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      return %new, %check : tensor<8x8xf32>, tensor<f32>
    }
  }
}
