// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// The gradient of a weight: y^T x, both over 2 x 3 rows that share a stride.

// CHECK: constant @{{.*}}(dense<[0, 1, 5, 0, 7, 1, 0, 7, 1, 0, 7, 1]> : tensor<12xi64>)
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<2x3x5xf32>
    %b = plan.buffer at 4096 : memref<2x3x7xf32>
    %c = plan.buffer at 8192 : memref<5x7xf32>
    plan.launch contraction ins(%a, %b : memref<2x3x5xf32>, memref<2x3x7xf32>) outs(%c : memref<5x7xf32>) {
    ^bb0(%x: tensor<2x3x5xf32>, %y: tensor<2x3x7xf32>):
      %p = hone.dot_general %x, %y batch [] x [] contract [0, 1] x [0, 1]
          : tensor<2x3x5xf32>, tensor<2x3x7xf32> -> tensor<5x7xf32>
      plan.yield %p : tensor<5x7xf32>
    }
  }
}
