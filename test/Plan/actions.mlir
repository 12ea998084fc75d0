// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK: plan.program @stage1 arena 128 stage 1 {
// CHECK: plan.actions "evaluate" {
// CHECK-NEXT: plan.transfer receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
// CHECK-NEXT: plan.run @evaluate micro 0
plan.program @stage1 arena 128 stage 1 {
  plan.argument "stage1" kind "boundary" at 0 window 2 : tensor<16xf32>
  plan.function @evaluate {
  }
  plan.actions "evaluate" {
    plan.transfer receive "boundary" "stage1" micro 0 peer 0
    plan.transfer await_receive "boundary" "stage1" micro 0 peer 0
    plan.run @evaluate micro 0
  }
}

// CHECK: plan.program @stage2 arena 64 stage 2 categories {parameters = 64 : i64} {
// CHECK: plan.actions "step" {
// CHECK-NEXT: plan.transfer send "param" "w" micro 3 peer 1
// CHECK-NEXT: plan.transfer await_send "param" "w" micro 3 peer 1
plan.program @stage2 arena 64 stage 2 categories {parameters = 64 : i64} {
  plan.argument "w" kind "param" at 0 : tensor<16xf32>
  plan.actions "step" {
    plan.transfer send "param" "w" micro 3 peer 1
    plan.transfer await_send "param" "w" micro 3 peer 1
  }
}

// CHECK: plan.run @overlap micro 1 beside 0
plan.program @stage0 arena 128 stage 0 {
  plan.argument "saved.0" kind "saved" at 0 window 2 : tensor<16xf32>
  plan.function @overlap {
    %of_forward = plan.buffer at 0 : memref<16xf32>
    %of_backward = plan.buffer at 64 : memref<16xf32>
  }
  plan.actions "step" {
    plan.run @overlap micro 1 beside 0
  }
}
