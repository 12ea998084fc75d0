// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// A matrix and its transpose have no element per point of one space.

// CHECK: error: 'plan.launch' op fits no row space
plan.program @p arena 8192 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<8x64xf32>
    %b = plan.buffer at 4096 : memref<64x8xf32>
    plan.launch map ins(%a : memref<8x64xf32>) outs(%b : memref<64x8xf32>) {
    ^bb0(%x: tensor<8x64xf32>):
      %r = hone.transpose %x [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
      plan.yield %r : tensor<64x8xf32>
    }
  }
}
