// RUN: hone-opt %s --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s
// RUN: sed 's/"accumulate"]/"forward", "backward"], saved = 3 : i64/' %s \
// RUN:   | hone-opt --pass-pipeline="builtin.module(builtin.module(hone-split-turns))" | FileCheck %s --check-prefix=GPIPE

// In 1f1b the last stage runs the backward part directly after the forward part: one function, which saves nothing. In gpipe all
// forward parts are before it, so what the stage gets stays for all three micro-batches, besides what comes meanwhile.
// CHECK: func.func @accumulate(
// CHECK-SAME: %[[IN:.*]]: tensor<4x8xf32> {dist.window = 2 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
// CHECK-SAME: tensor<4x8xf32> {dist.window = {{[0-9]}} : i64, hone.fqn = "stage1.grad", hone.kind = "boundary"}
// CHECK-SAME: tensor<4x8xf32> {hone.donates = 2 : i64, hone.fqn = "stage1.grad", hone.kind = "boundary"}
// CHECK-NOT: "saved"
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: {dist.window = 2 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
// GPIPE: func.func @forward(
// GPIPE-SAME: {dist.window = 5 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
// GPIPE-SAME: -> (tensor<f32> {{{.*}}hone.kind = "scalar"})
// GPIPE: func.func @backward(
// GPIPE-SAME: {dist.window = 5 : i64, hone.fqn = "stage1", hone.kind = "boundary"}
module attributes {dist.stages = 2 : i64} {
  module @stage1 attributes {dist.stage = 1 : i64,
      dist.turns = {activation_in = 2 : i64, functions = ["accumulate"], gradient_out = 1 : i64}} {
    func.func @accumulate(%h: tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary"},
        %sum: tensor<f32> {hone.fqn = "loss", hone.kind = "scalar"})
        -> (tensor<f32> {hone.donates = 1 : i64, hone.fqn = "loss", hone.kind = "scalar"},
            tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary"}) {
      %loss = hone.fused row (%b0 = %h : tensor<4x8xf32>, %b1 = %sum : tensor<f32>) -> tensor<f32> {
        %r = hone.reduce sum %b0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
        %s = hone.add %r, %b1 : tensor<f32>
        hone.yield %s : tensor<f32>
      }
      %g = hone.fused map (%b0 = %h : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %s = hone.tanh %b0 : tensor<4x8xf32>
        hone.yield %s : tensor<4x8xf32>
      }
      return %loss, %g : tensor<f32>, tensor<4x8xf32>
    }
    func.func @evaluate(%h: tensor<4x8xf32> {hone.fqn = "stage1", hone.kind = "boundary"})
        -> (tensor<f32> {hone.kind = "loss"}) {
      %loss = hone.fused row (%b0 = %h : tensor<4x8xf32>) -> tensor<f32> {
        %s = hone.reduce sum %b0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
        hone.yield %s : tensor<f32>
      }
      return %loss : tensor<f32>
    }
  }
}
