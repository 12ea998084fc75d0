// RUN: hone-opt %s --hone-join-stages --split-input-file | FileCheck %s

// The last stage runs both parts at the forward action. Its window has room for what comes meanwhile, so that the next
// receive begins before; the gradient of the run before has been sent.

// CHECK-LABEL: plan.program @stage1 arena 192 stage 1 {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @accumulate micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @accumulate micro 1
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 1 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 1 peer 0
// CHECK-NEXT: plan.run @update micro 1
// CHECK-NEXT: }
// CHECK-NEXT: }
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 256 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 192 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 : tensor<16xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
    }
  }
}

// -----

// One instance: the receive waits for the run that reads it.

// CHECK-LABEL: plan.program @stage1 arena 128 stage 1 {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @accumulate micro 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 1 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @accumulate micro 1
module attributes {dist.schedule = "1f1b", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 256 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
  module @stage1 attributes {dist.stage = 1 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 128 {
      plan.argument "stage1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
    }
  }
}
