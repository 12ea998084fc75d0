// The order of micro-batches is read once; each stage notes what follows from it.
// RUN: hone-opt %s --dist-split-stages | FileCheck %s
// RUN: hone-opt %s --dist-split-stages=schedule=gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: hone-opt %s --dist-split-stages=schedule=zb-h1 | FileCheck %s --check-prefix=ZERO
// RUN: not hone-opt %s --dist-split-stages=schedule=interleaved=2 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not hone-opt %s --dist-split-stages=schedule=1f2b 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 3 : i64}
// CHECK: module @stage0 attributes {dist.stage = 0 : i64,
// CHECK-SAME: dist.turns = {activation_out = 2 : i64, functions = ["forward", "backward"], gradient_in = 2 : i64, saved = 2 : i64}
// CHECK: module @stage1 attributes {dist.stage = 1 : i64,
// CHECK-SAME: functions = ["accumulate"]
// GPIPE: module @stage0
// GPIPE-SAME: saved = 3 : i64
// GPIPE: module @stage1
// GPIPE-SAME: functions = ["forward", "backward"]
// ZERO: module @stage0
// ZERO-SAME: functions = ["forward", "backward_input", "backward_weight"]
// ZERO: module @stage1
// ZERO-SAME: functions = ["accumulate", "backward_weight"]
// CHUNKS: error: schedule 'interleaved=2' has 2 chunks per rank, expected 1
// UNKNOWN: error: '1f2b': expected
module attributes {dist.stages = 2 : i64, hone.micro_batches = 3 : i64} {
  func.func @accumulate(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"},
      %x: tensor<8xf32> {hone.kind = "input", hone.fqn = "x"}, %sum: tensor<f32> {hone.kind = "scalar", hone.fqn = "loss"})
      -> (tensor<f32> {hone.kind = "scalar", hone.fqn = "loss", hone.donates = 2 : i64}) {
    %h = hone.mul %w, %x : tensor<8xf32>
    %h1 = dist.boundary %h from 0 to 1 : tensor<8xf32>
    %loss = hone.reduce sum %h1 dims [0] : tensor<8xf32> -> tensor<f32>
    %new = hone.add %sum, %loss : tensor<f32>
    return %new : tensor<f32>
  }
  func.func @update(%w: tensor<8xf32> {hone.kind = "param", hone.fqn = "w"})
      -> (tensor<8xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
    return %w : tensor<8xf32>
  }
}
