// Two chunks of one stage, at the turn of a V. What chunk 1 hands chunk 2 is one argument of both, with as many instances as
// both need: one from @forward.1 to @forward.2, and what @backward_weight.2 reads of it for as long as chunk 2 keeps it.
// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s
// RUN: sed 's/@accumulate.2/@accumulate.3/' %s | not hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING

// CHECK: func.func @forward.1(%{{[^:]*}}: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "chunk1", hone.kind = "boundary"}
// CHECK-SAME: {dist.window = 4 : i64, hone.fqn = "chunk2", hone.kind = "boundary"}
// CHECK: func.func @backward_input.1(%{{[^:]*}}: tensor<4x8xf32> {dist.window = 1 : i64, hone.fqn = "chunk2.grad", hone.kind = "boundary"}
// CHECK-SAME: {dist.window = 2 : i64, hone.fqn = "chunk1.grad", hone.kind = "boundary"})
// CHECK: func.func @backward_weight.1(
// CHECK: func.func @forward.2(%{{[^:]*}}: tensor<4x8xf32> {dist.window = 4 : i64, hone.fqn = "chunk2", hone.kind = "boundary"}
// CHECK-SAME: {dist.window = 3 : i64, hone.fqn = "saved.2.0", hone.kind = "saved"}
// CHECK: func.func @backward_input.2(
// CHECK-SAME: {dist.window = 1 : i64, hone.fqn = "chunk2.grad", hone.kind = "boundary"})
// CHECK: func.func @backward_weight.2(%{{[^:]*}}: tensor<4x8xf32> {dist.window = 4 : i64, hone.fqn = "chunk2", hone.kind = "boundary"}
// CHECK-SAME: {dist.window = 1 : i64, hone.fqn = "saved.2.1", hone.kind = "saved"}
// MISSING: error: has no function @accumulate.2
module attributes {dist.chunks = 4 : i64, dist.stages = 2 : i64} {
  module @stage1 attributes {dist.stage = 1 : i64,
      dist.turns = [{activation_in = 2 : i64, activation_out = 1 : i64, chunk = 1 : i64, functions = ["forward", "backward_input", "backward_weight"],
                     gradient_out = 2 : i64, grads = 1 : i64, saved = 3 : i64},
                    {activation_out = 2 : i64, chunk = 2 : i64, functions = ["forward", "backward_input", "backward_weight"],
                     gradient_in = 2 : i64, gradient_out = 1 : i64, grads = 1 : i64, saved = 3 : i64}]} {
    func.func @accumulate.1(%h: tensor<4x8xf32> {hone.fqn = "chunk1", hone.kind = "boundary"})
        -> (tensor<4x8xf32> {hone.fqn = "chunk1", hone.kind = "boundary"}) {
      %y = hone.fused map (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.neg %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %g = hone.fused collective (%b0 = %y : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 2 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %gh = hone.fused map (%b0 = %g : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.neg %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      return %gh : tensor<4x8xf32>
    }
    func.func @accumulate.2(%h: tensor<4x8xf32> {hone.fqn = "chunk2", hone.kind = "boundary"},
        %w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<4x8xf32> {hone.fqn = "chunk2", hone.kind = "boundary"},
            tensor<8x8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"}) {
      %t = hone.fused map (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.tanh %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %y = hone.fused contraction (%b0 = %t : tensor<4x8xf32>, %b1 = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %g = hone.fused collective (%b0 = %y : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = dist.turn %b0 to 3 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %gt = hone.fused map (%b0 = %g : tensor<4x8xf32>, %b1 = %t : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.mul %b0, %b1 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %new = hone.fused contraction (%b0 = %h : tensor<4x8xf32>, %b1 = %gt : tensor<4x8xf32>,
          %b2 = %sum : tensor<8x8xf32>) -> tensor<8x8xf32> {
        %p = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
        %s = hone.add %p, %b2 : tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      return %gt, %new : tensor<4x8xf32>, tensor<8x8xf32>
    }
  }
}
