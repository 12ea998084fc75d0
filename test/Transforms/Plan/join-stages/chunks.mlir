// Stages of two chunks each: functions and boundaries are called by their chunk, and peers are stages.
// RUN: hone-opt %s --split-input-file --hone-join-stages | FileCheck %s

// Placed as a V: stage 0 has the first and the last chunk, which share "w". Stage 1 hands chunk 2 what chunk 1 made, without
// a message.
// CHECK: plan.program @stage0
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.run @forward.0 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.run @accumulate.3 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward_weight.3 micro 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward_input.0 micro 0
// CHECK-NEXT: plan.run @backward_weight.0 micro 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @update micro 0
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.run @evaluate.0 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.run @evaluate.3 micro 0
// CHECK: plan.program @stage1
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.run @forward.1 micro 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @forward.2 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @backward_input.2 micro 0
// CHECK-NEXT: plan.run @backward_weight.2 micro 0
// CHECK-NEXT: plan.run @backward_input.1 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @backward_weight.1 micro 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @update micro 0
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate.1 micro 0
// CHECK-NEXT: plan.run @evaluate.2 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3" micro 0 peer 0
module attributes {dist.chunks = 4 : i64, dist.schedule = "zb-v", dist.stages = 2 : i64, hone.micro_batches = 1 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 2048 {
      plan.argument "chunk1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "chunk1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "chunk3" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "chunk3.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "w" kind "param" at 256 : tensor<16xf32>
      plan.argument "w" kind "grad" at 320 : tensor<16xf32>
      plan.argument "chunk3.w" kind "grad" at 384 : tensor<16xf32>
      plan.function @forward.0 {
      }
      plan.function @backward_input.0 {
      }
      plan.function @backward_weight.0 {
      }
      plan.function @evaluate.0 {
      }
      plan.function @accumulate.3 {
      }
      plan.function @backward_weight.3 {
      }
      plan.function @evaluate.3 {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 2048 {
      plan.argument "chunk1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "chunk1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "chunk2" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "chunk2.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "chunk3" kind "boundary" at 256 : tensor<16xf32>
      plan.argument "chunk3.grad" kind "boundary" at 320 : tensor<16xf32>
      plan.function @forward.1 {
      }
      plan.function @backward_input.1 {
      }
      plan.function @backward_weight.1 {
      }
      plan.function @evaluate.1 {
      }
      plan.function @forward.2 {
      }
      plan.function @backward_input.2 {
      }
      plan.function @backward_weight.2 {
      }
      plan.function @evaluate.2 {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// Interleaved: both directions go around. Stage 1 borrows "w" for chunk 3.
// CHECK: plan.program @stage0
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer send "param" "w" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "grad" "chunk3.w" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk2" micro 0 peer 1
// CHECK-NEXT: plan.run @forward.0 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk2" micro 0 peer 1
// CHECK-NEXT: plan.run @forward.2 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward.2 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk2.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward.0 micro 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk2.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "grad" "chunk3.w" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "param" "w" micro 0 peer 1
// CHECK-NEXT: plan.run @update micro 0
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer send "param" "w" micro 0 peer 1
// CHECK-NEXT: plan.run @evaluate.0 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "chunk2" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk2" micro 0 peer 1
// CHECK-NEXT: plan.run @evaluate.2 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "param" "w" micro 0 peer 1
// CHECK: plan.program @stage1
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.run @forward.1 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk2" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.run @accumulate.3 micro 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk2.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk3.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk2.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @backward.1 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer send "grad" "chunk3.w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk2" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk3.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "grad" "chunk3.w" micro 0 peer 0
// CHECK-NEXT: plan.run @update micro 0
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk1" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate.1 micro 0
// CHECK-NEXT: plan.transfer send "boundary" "chunk2" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "chunk2" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "chunk3" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate.3 micro 0
module attributes {dist.chunks = 4 : i64, dist.schedule = "interleaved=2", dist.stages = 2 : i64, hone.micro_batches = 1 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 2048 {
      plan.argument "chunk1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "chunk1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "chunk2" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "chunk2.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "chunk3" kind "boundary" at 256 : tensor<16xf32>
      plan.argument "chunk3.grad" kind "boundary" at 320 : tensor<16xf32>
      plan.argument "w" kind "param" at 384 : tensor<16xf32>
      plan.argument "w" kind "grad" at 448 : tensor<16xf32>
      plan.argument "chunk3.w" kind "grad" at 512 : tensor<16xf32>
      plan.function @forward.0 {
      }
      plan.function @backward.0 {
      }
      plan.function @evaluate.0 {
      }
      plan.function @forward.2 {
      }
      plan.function @backward.2 {
      }
      plan.function @evaluate.2 {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 2048 {
      plan.argument "chunk1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "chunk1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "chunk2" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "chunk2.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "chunk3" kind "boundary" at 256 : tensor<16xf32>
      plan.argument "chunk3.grad" kind "boundary" at 320 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 384 : tensor<16xf32>
      plan.argument "chunk3.w" kind "grad" at 448 : tensor<16xf32>
      plan.function @forward.1 {
      }
      plan.function @backward.1 {
      }
      plan.function @evaluate.1 {
      }
      plan.function @accumulate.3 {
      }
      plan.function @evaluate.3 {
      }
      plan.function @update {
      }
    }
  }
}
