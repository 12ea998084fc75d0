// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// A value without elements is no table: an empty one has no lowering to LLVM.

// CHECK-NOT: memref.global
// CHECK-LABEL: func.func private @k0_data_movement
// CHECK-NOT: memref.get_global
plan.program @p arena 64 {
  plan.function @step {
    %out = plan.buffer at 0 : memref<2x5x0xf32>
    plan.launch data_movement outs(%out : memref<2x5x0xf32>) {
      %x = hone.constant dense<> : tensor<2x5x0xf32>
      plan.yield %x : tensor<2x5x0xf32>
    }
  }
}
