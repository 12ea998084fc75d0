// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s

// A stage that hands on a view of a product makes it in the forward part. It took the buffer that it sends for its own
// operand, and sent what was in it.
// CHECK-LABEL: func.func @forward(
// CHECK: %[[PRODUCT:.*]] = hone.fused contraction
// CHECK: %[[VIEW:.*]] = hone.reshape %[[PRODUCT]] : tensor<4x8xf32> -> tensor<2x2x8xf32>
// CHECK: return {{(.*, )?}}%[[VIEW]]{{(, .*)?}} :
module attributes {dist.stages = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64,
      dist.turns = {activation_out = 1 : i64, functions = ["forward", "backward"], gradient_in = 1 : i64, saved = 1 : i64}} {
    dist.mesh @mesh [<"pp" = 2>]
    func.func @accumulate(%x: tensor<4x8xf32> {hone.fqn = "x", hone.kind = "input"},
        %w: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "param"}, %sum: tensor<8x8xf32> {hone.fqn = "w", hone.kind = "grad"})
        -> (tensor<8x8xf32> {hone.donates = 2 : i64, hone.fqn = "w", hone.kind = "grad"}) {
      %h = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      %rows = hone.reshape %h : tensor<4x8xf32> -> tensor<2x2x8xf32>
      %g = hone.fused collective (%b0 = %rows : tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
        %s = dist.turn %b0 to 1 : tensor<2x2x8xf32>
        hone.yield %s : tensor<2x2x8xf32>
      }
      %flat = hone.reshape %g : tensor<2x2x8xf32> -> tensor<4x8xf32>
      %dw = hone.fused contraction (%b0 = %x : tensor<4x8xf32>, %b1 = %flat : tensor<4x8xf32>) -> tensor<8x8xf32> {
        %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      %new = hone.fused map (%b0 = %sum : tensor<8x8xf32>, %b1 = %dw : tensor<8x8xf32>) -> tensor<8x8xf32> {
        %s = hone.add %b0, %b1 : tensor<8x8xf32>
        hone.yield %s : tensor<8x8xf32>
      }
      return %new : tensor<8x8xf32>
    }
  }
}
