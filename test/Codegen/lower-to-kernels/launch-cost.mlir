// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Each launch is followed by its family, the bytes of its operands and results, and its operations.

// CHECK: @[[PRODUCT:[a-z0-9_]+]]("contraction\00")
// CHECK: llvm.func @hone_program
plan.program @p arena 131072 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<3x5xf32>
    %b = plan.buffer at 64 : memref<5x7xf32>
    %c = plan.buffer at 256 : memref<3x7xf32>
    %t = plan.buffer at 1024 : memref<1000x16xf32>
    %i = plan.buffer at 65536 : memref<2x3xi64>
    %r = plan.buffer at 65600 : memref<2x3x16xf32>

    // 4 (15 + 35 + 21) bytes, 2 * 3 * 5 * 7 operations.
    // CHECK: llvm.call @honert_matmul(
    // CHECK-NEXT: %[[FAMILY:.*]] = llvm.mlir.addressof @[[PRODUCT]]
    // CHECK-NEXT: %[[BYTES:.*]] = llvm.mlir.constant(284 : i64)
    // CHECK-NEXT: %[[FLOPS:.*]] = llvm.mlir.constant(210 : i64)
    // CHECK-NEXT: llvm.call @honert_launch_cost(%arg0, %[[FAMILY]], %[[BYTES]], %[[FLOPS]])
    plan.launch contraction ins(%a, %b : memref<3x5xf32>, memref<5x7xf32>) outs(%c : memref<3x7xf32>) {
    ^bb0(%x: tensor<3x5xf32>, %y: tensor<5x7xf32>):
      %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0]
          : tensor<3x5xf32>, tensor<5x7xf32> -> tensor<3x7xf32>
      plan.yield %p : tensor<3x7xf32>
    }

    // Of the table of 64000 bytes what is looked up: ids of 48 bytes, rows of 384, and as much for the result. (The op counts its
    // ids with what it reads.)
    // CHECK: llvm.call @honert_launch(
    // CHECK-NEXT: %[[MOVED:.*]] = llvm.mlir.constant(864 : i64)
    // CHECK-NEXT: llvm.call @honert_launch_cost(%arg0, %{{.*}}, %[[MOVED]], %{{.*}})
    plan.launch gather ins(%t, %i : memref<1000x16xf32>, memref<2x3xi64>) outs(%r : memref<2x3x16xf32>) {
    ^bb0(%x: tensor<1000x16xf32>, %y: tensor<2x3xi64>):
      %p = hone.embedding %x, %y : tensor<1000x16xf32>, tensor<2x3xi64> -> tensor<2x3x16xf32>
      plan.yield %p : tensor<2x3x16xf32>
    }
  }
}
