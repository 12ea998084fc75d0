// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s
// RUN: sed 's/micro_batches = 2 : i64/&, hone.target = "cuda sm_80"/' %s | hone-opt --hone-lower-to-kernels \
// RUN:   | FileCheck %s --check-prefix=DEVICE

// Facts of the whole and the mesh come first, then each stage with its own arena, arguments, functions and lists. Stages
// share kernels. A step of two micro-batches has 2 (3 + 5) + 7 and 2 * 11 + 13 operations in the stages, on each of their
// 3 ranks, and the parameters have 5 + 6 elements.

// On a GPU likewise.
// DEVICE: llvm.call @honert_stage(
// DEVICE: llvm.call @honert_device_launch(%arg0, %{{[0-9]+}}, %{{[0-9]+}}, %[[KERNEL:[0-9]+]],
// DEVICE: llvm.call @honert_action(
// DEVICE: llvm.call @honert_stage(
// DEVICE: llvm.call @honert_device_launch(%arg0, %{{[0-9]+}}, %{{[0-9]+}}, %[[KERNEL]],
// DEVICE: gpu.func @k0_map
// DEVICE-NOT: gpu.func

// CHECK-DAG: @[[PARAMETERS:[a-z0-9_]+]]("parameters\00")
// CHECK-DAG: @[[FLOPS:[a-z0-9_]+]]("flops_per_step\00")
// CHECK-DAG: @[[STEP:[a-z0-9_]+]]("step\00")
// CHECK-DAG: @[[FORWARD:[a-z0-9_]+]]("forward\00")
// CHECK-DAG: @[[BOUNDARY:[a-z0-9_]+]]("boundary stage1\00")
// CHECK: llvm.func internal @hone_program_part_0
// CHECK: %[[KEY:.*]] = llvm.mlir.addressof @[[PARAMETERS]]
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(1.100000e+01 : f64)
// CHECK: llvm.call @honert_meta_number(%arg0, %[[KEY]], %[[COUNT]])
// CHECK: %[[KEY:.*]] = llvm.mlir.addressof @[[FLOPS]]
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(1.740000e+02 : f64)
// CHECK: llvm.call @honert_meta_number(%arg0, %[[KEY]], %[[COUNT]])
// CHECK-NOT: llvm.call @honert_arena
// CHECK: llvm.call @honert_mesh_axis
// CHECK: %[[THREE:.*]] = llvm.mlir.constant(3 : i64)
// CHECK: llvm.call @honert_mesh_axis
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: llvm.call @honert_stage(%arg0, %[[ZERO]])
// CHECK: llvm.call @honert_arena(
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: llvm.call @honert_argument(
// CHECK-NOT: llvm.call @honert_argument_window(
// CHECK: llvm.call @honert_argument(
// CHECK-NEXT: llvm.call @honert_argument_window(%arg0, %[[THREE]])
// CHECK: %[[FORWARD_NAME:.*]] = llvm.mlir.addressof @[[FORWARD]]
// CHECK: llvm.call @honert_function(%arg0, %[[FORWARD_NAME]])
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @k0_map_entry
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[KERNEL]],
// CHECK-NOT: llvm.call @honert_stage(
// CHECK: %[[LIST:.*]] = llvm.mlir.addressof @[[STEP]]
// CHECK: %[[NONE:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK-NEXT: llvm.call @honert_action(%arg0, %[[LIST]], %[[ZERO]], %[[FORWARD_NAME]], %[[ONE]], %[[NONE]])
// CHECK: %[[SENT:.*]] = llvm.mlir.addressof @[[BOUNDARY]]
// CHECK-NEXT: llvm.call @honert_action(%arg0, %[[LIST]], %[[ONE]], %[[SENT]], %[[ONE]], %[[ONE]])
// CHECK: %[[AWAIT:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-NEXT: llvm.call @honert_action(%arg0, %[[LIST]], %[[AWAIT]], %[[SENT]], %[[ONE]], %[[ONE]])
// CHECK-NEXT: llvm.call @honert_stage(%arg0, %[[ONE]])
// CHECK: llvm.call @honert_arena(
// CHECK-NOT: llvm.call @honert_argument_window(
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[KERNEL]],
// CHECK-NOT: llvm.call @honert_stage(
// CHECK: llvm.return
// CHECK: func.func private @k0_map
// CHECK-NOT: @k1_
module attributes {hone.micro_batches = 2 : i64} {
  dist.mesh @mesh [<"pp" = 2>, <"dp" = 3>]
  plan.program @stage0 arena 256 stage 0 {
    plan.argument "a" kind "param" at 0 : tensor<5xf32>
    plan.argument "stage1" kind "boundary" at 64 window 3 : tensor<5xf32>
    plan.function @forward attributes {plan.flops = 3 : i64} {
      %a = plan.buffer at 0 : memref<5xf32>
      %h = plan.buffer at 64 : memref<5xf32>
      plan.launch map ins(%a : memref<5xf32>) outs(%h : memref<5xf32>) {
      ^bb0(%x: tensor<5xf32>):
        %0 = hone.tanh %x : tensor<5xf32>
        plan.yield %0 : tensor<5xf32>
      }
    }
    plan.function @backward attributes {plan.flops = 5 : i64} {
    }
    plan.function @update attributes {plan.flops = 7 : i64} {
    }
    plan.actions "step" {
      plan.run @forward micro 1
      plan.transfer send "boundary" "stage1" micro 1 peer 1
      plan.transfer await_send "boundary" "stage1" micro 1 peer 1
    }
  }
  plan.program @stage1 arena 192 stage 1 {
    plan.argument "b" kind "param" at 0 : tensor<6xf32>
    plan.argument "stage1" kind "boundary" at 64 : tensor<5xf32>
    plan.function @accumulate attributes {plan.flops = 11 : i64} {
      %h = plan.buffer at 64 : memref<5xf32>
      %t = plan.buffer at 128 : memref<5xf32>
      plan.launch map ins(%h : memref<5xf32>) outs(%t : memref<5xf32>) {
      ^bb0(%x: tensor<5xf32>):
        %0 = hone.tanh %x : tensor<5xf32>
        plan.yield %0 : tensor<5xf32>
      }
    }
    plan.function @update attributes {plan.flops = 13 : i64} {
    }
    plan.function @evaluate attributes {plan.flops = 100 : i64} {
    }
  }
}
