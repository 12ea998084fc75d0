// RUN: hone-opt %s --hone-join-stages | FileCheck %s
// RUN: hone-opt %s --hone-join-stages --hone-verify-plan | hone-opt | FileCheck %s

// The gradient of the first micro-batch is received beside the forward part of the second. With windows of 2 stage 0
// awaits the send of micro-batch 0 before it writes that of 2, and stage 1, with one instance, each send of a gradient
// before the next run.

// CHECK: dist.mesh @mesh [<"pp" = 2>, <"dp" = 2>]
// CHECK-NOT: module
// CHECK: plan.program @stage0 arena 640 stage 0 {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.run @forward micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "stage1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @forward micro 1
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 1 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward micro 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage1.grad" micro 1 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.run @forward micro 2
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 2 peer 1
// CHECK-NEXT: plan.transfer receive "boundary" "stage1.grad" micro 2 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1.grad" micro 1 peer 1
// CHECK-NEXT: plan.run @backward micro 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1.grad" micro 2 peer 1
// CHECK-NEXT: plan.run @backward micro 2
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 1 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 2 peer 1
// CHECK-NEXT: plan.run @update micro 2
// CHECK-NEXT: }
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.run @evaluate micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: }
// CHECK: plan.program @stage1 arena 320 stage 1 {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @forward micro 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.run @backward micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.run @forward micro 1
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 2 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @backward micro 1
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 1 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 2 peer 0
// CHECK-NEXT: plan.run @forward micro 2
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 1 peer 0
// CHECK-NEXT: plan.run @backward micro 2
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 2 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 2 peer 0
// CHECK-NEXT: plan.run @update micro 2
// CHECK-NEXT: }
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate micro 0
// CHECK-NEXT: }
module attributes {dist.stages = 2 : i64, dist.schedule = "1f1b", hone.micro_batches = 3 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>, <"dp" = 2>]
    plan.program @program arena 640 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.argument "x" kind "saved" at 256 window 2 : tensor<48xf32>
      plan.function @forward {
        %x = plan.buffer at 256 : memref<48xf32>
      }
      plan.function @backward {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>, <"dp" = 2>]
    plan.program @program arena 320 {
      plan.argument "stage1" kind "boundary" at 0 window 1 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "x" kind "saved" at 128 : tensor<48xf32>
      plan.function @forward {
        %x = plan.buffer at 128 : memref<48xf32>
      }
      plan.function @backward {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
}
