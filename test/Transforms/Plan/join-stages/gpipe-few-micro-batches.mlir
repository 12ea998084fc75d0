// RUN: hone-opt %s --hone-join-stages | FileCheck %s

// Three stages and one micro-batch; the middle one has all four boundaries.

// CHECK: plan.program @stage1 arena 256 stage 1 {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage2.grad" micro 0 peer 2
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @forward micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage2" micro 0 peer 2
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage2.grad" micro 0 peer 2
// CHECK-NEXT: plan.run @backward micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage2" micro 0 peer 2
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1.grad" micro 0 peer 0
// CHECK-NEXT: plan.run @update micro 0
// CHECK-NEXT: }
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage2" micro 0 peer 2
// CHECK-NEXT: plan.transfer await_send "boundary" "stage2" micro 0 peer 2
// CHECK-NEXT: }
module attributes {dist.schedule = "gpipe", dist.stages = 3 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 3>]
    plan.program @program arena 128 {
      plan.argument "stage1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.function @forward {
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
    dist.mesh @mesh [<"pp" = 3>]
    plan.program @program arena 256 {
      plan.argument "stage1" kind "boundary" at 0 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 64 : tensor<16xf32>
      plan.argument "stage2" kind "boundary" at 128 : tensor<8xf32>
      plan.argument "stage2.grad" kind "boundary" at 192 : tensor<8xf32>
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
  module @stage2 attributes {dist.stage = 2 : i64} {
    dist.mesh @mesh [<"pp" = 3>]
    plan.program @program arena 128 {
      plan.argument "stage2" kind "boundary" at 0 : tensor<8xf32>
      plan.argument "stage2.grad" kind "boundary" at 64 : tensor<8xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
}
