// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// Rows are picked from memory: a kernel cannot pick from a table that it makes.

// CHECK: error: 'plan.launch' op fits no row space
plan.program @p arena 8192 {
  plan.function @step {
    %ids = plan.buffer at 0 : memref<12xi64>
    %out = plan.buffer at 4096 : memref<12x1xf32>
    plan.launch map ins(%ids : memref<12xi64>) outs(%out : memref<12x1xf32>) {
    ^bb0(%i: tensor<12xi64>):
      %table = hone.iota dim 0 : tensor<5x1xf32>
      %rows = hone.embedding %table, %i : tensor<5x1xf32>, tensor<12xi64> -> tensor<12x1xf32>
      plan.yield %rows : tensor<12x1xf32>
    }
  }
}
