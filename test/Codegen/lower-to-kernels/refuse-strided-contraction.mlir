// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// The batch of the left operand is on both sides of its rows.

// CHECK: error: 'plan.launch' op has an operand without one stride per index, expected hone-normalize-contractions before
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<2x3x4x5xf32>
    %b = plan.buffer at 4096 : memref<2x4x7x5xf32>
    %c = plan.buffer at 8192 : memref<2x4x3x7xf32>
    plan.launch contraction ins(%a, %b : memref<2x3x4x5xf32>, memref<2x4x7x5xf32>) outs(%c : memref<2x4x3x7xf32>) {
    ^bb0(%x: tensor<2x3x4x5xf32>, %y: tensor<2x4x7x5xf32>):
      %p = hone.dot_general %x, %y batch [0, 2] x [0, 1] contract [3] x [3]
          : tensor<2x3x4x5xf32>, tensor<2x4x7x5xf32> -> tensor<2x4x3x7xf32>
      plan.yield %p : tensor<2x4x3x7xf32>
    }
  }
}
