// RUN: hone-opt %s --hone-join-stages | FileCheck %s

// A list of the user: stage 0 runs all forward actions first. Split backward parts are two functions. Nothing is saved
// between them, so no window is too small.

// CHECK: plan.program @stage0
// CHECK: plan.actions "step" {
// CHECK: plan.run @forward micro 0
// CHECK: plan.run @forward micro 1
// CHECK: plan.run @backward_input micro 0
// CHECK: plan.run @backward_weight micro 0
// CHECK: plan.run @backward_input micro 1
// CHECK: plan.run @backward_weight micro 1
// CHECK: plan.run @update micro 1
// CHECK: plan.program @stage1
// CHECK: plan.actions "step" {
// CHECK: plan.run @forward micro 0
// CHECK: plan.run @backward micro 0
module attributes {dist.schedule = "0F0,0F1,0I0,0W0,0I1,0W1\0A1F0,1B0,1F1,1B1\0A", dist.stages = 2 : i64, hone.micro_batches = 2 : i64} {
  module @stage0 attributes {dist.stage = 0 : i64} {
    dist.mesh @mesh [<"pp" = 2>]
    plan.program @program arena 256 {
      plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
      plan.argument "stage1.grad" kind "boundary" at 128 window 2 : tensor<16xf32>
      plan.function @forward {
      }
      plan.function @backward_input {
      }
      plan.function @backward_weight {
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
      plan.function @forward {
      }
      plan.function @backward {
      }
      plan.function @update {
      }
    }
  }
}
