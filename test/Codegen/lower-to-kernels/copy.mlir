// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// What the plan adds to keep a donated argument is named by what it does.

// CHECK-DAG: constant @[[NAME:[a-z0-9_]+]]("copy\00")
// CHECK: llvm.func @hone_program
// CHECK: %[[LABEL:.*]] = llvm.mlir.addressof @[[NAME]]
// CHECK: llvm.call @honert_launch(%arg0, %[[LABEL]],
plan.program @p arena 512 {
  plan.argument "v" kind "param" at 0 : tensor<64xf32>
  plan.argument "w" kind "param" at 256 : tensor<64xf32>
  plan.function @step {
    %v = plan.buffer at 0 : memref<64xf32>
    %w = plan.buffer at 256 : memref<64xf32>
    plan.launch data_movement ins(%v : memref<64xf32>) outs(%w : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      plan.yield %x : tensor<64xf32>
    }
  }
}
