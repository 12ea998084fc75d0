// RUN: hone-opt %s --hone-join-stages | FileCheck %s

// Stage 0 owns "w", of which stages 1 and 2 have copies: of its own working copy in bf16, and of the parameter. "frozen"
// has no gradients, so its value never changes and nothing is sent.

// CHECK: plan.program @stage0
// CHECK: plan.argument "w" kind "grad"
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer send "working_copy" "w" micro 0 peer 1
// CHECK-NEXT: plan.transfer send "param" "w" micro 0 peer 2
// CHECK-NEXT: plan.transfer receive "grad" "stage1.w" micro 0 peer 1
// CHECK-NEXT: plan.transfer receive "grad" "stage2.w" micro 0 peer 2
// CHECK-NEXT: plan.transfer receive "boundary" "stage1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @forward micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1.grad" micro 0 peer 1
// CHECK-NEXT: plan.run @backward micro 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "grad" "stage1.w" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "grad" "stage2.w" micro 0 peer 2
// CHECK-NEXT: plan.transfer await_send "working_copy" "w" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "param" "w" micro 0 peer 2
// CHECK-NEXT: plan.run @update micro 0
// CHECK-NEXT: }
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer send "working_copy" "w" micro 0 peer 1
// CHECK-NEXT: plan.transfer send "param" "w" micro 0 peer 2
// CHECK-NEXT: plan.run @evaluate micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "boundary" "stage1" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "working_copy" "w" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "param" "w" micro 0 peer 2
// CHECK-NEXT: }
// CHECK: plan.program @stage1
// CHECK: plan.program @stage2
// CHECK: plan.argument "w" kind "working_copy"
// CHECK-NEXT: plan.argument "stage2.w" kind "grad"
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage2" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage2" micro 0 peer 1
// CHECK-NEXT: plan.run @accumulate micro 0
// CHECK-NEXT: plan.transfer send "boundary" "stage2.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer send "grad" "stage2.w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_send "boundary" "stage2.grad" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_send "grad" "stage2.w" micro 0 peer 0
// CHECK-NEXT: plan.run @update micro 0
// CHECK-NEXT: }
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer receive "boundary" "stage2" micro 0 peer 1
// CHECK-NEXT: plan.transfer await_receive "working_copy" "w" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage2" micro 0 peer 1
// CHECK-NEXT: plan.run @evaluate micro 0
// CHECK-NEXT: }
module attributes {dist.schedule = "1f1b", dist.stages = 3 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 3>]
    plan.program @program arena 512 {
      plan.argument "w" kind "param" at 0 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 64 : tensor<16xbf16>
      plan.argument "w" kind "grad" at 128 : tensor<16xf32>
      plan.argument "stage1.w" kind "grad" at 192 : tensor<16xf32>
      plan.argument "stage2.w" kind "grad" at 256 : tensor<16xf32>
      plan.argument "frozen" kind "param" at 320 : tensor<16xf32>
      plan.argument "stage1" kind "boundary" at 384 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 448 : tensor<16xf32>
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
    plan.program @program arena 384 {
      plan.argument "w" kind "working_copy" at 0 : tensor<16xbf16>
      plan.argument "w" kind "grad" at 64 : tensor<16xf32>
      plan.argument "stage1" kind "boundary" at 128 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "stage2" kind "boundary" at 256 : tensor<16xf32>
      plan.argument "stage2.grad" kind "boundary" at 320 : tensor<16xf32>
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
    plan.program @program arena 320 {
      plan.argument "frozen" kind "working_copy" at 0 : tensor<16xf32>
      plan.argument "w" kind "working_copy" at 64 : tensor<16xf32>
      plan.argument "w" kind "grad" at 128 : tensor<16xf32>
      plan.argument "stage2" kind "boundary" at 192 : tensor<16xf32>
      plan.argument "stage2.grad" kind "boundary" at 256 : tensor<16xf32>
      plan.function @accumulate {
      }
      plan.function @update {
      }
      plan.function @evaluate {
      }
    }
  }
}
