// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// No free dimension on the left: one row.

// CHECK: constant @{{.*}}(dense<[0, 0, 1, 0, 1, 5, 0, 0, 1, 0, 0, 1]> : tensor<12xi64>)
// CHECK: llvm.call @honert_matmul
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<5xf32>
    %b = plan.buffer at 4096 : memref<7x5xf32>
    %c = plan.buffer at 8192 : memref<7xf32>
    plan.launch contraction ins(%a, %b : memref<5xf32>, memref<7x5xf32>) outs(%c : memref<7xf32>) {
    ^bb0(%x: tensor<5xf32>, %y: tensor<7x5xf32>):
      %p = hone.dot_general %x, %y batch [] x [] contract [0] x [1] : tensor<5xf32>, tensor<7x5xf32> -> tensor<7xf32>
      plan.yield %p : tensor<7xf32>
    }
  }
}
