// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'plan.launch' op writes products of type 'bf16' as 'f16', expected the same or f32
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x5xbf16>
    %b = plan.buffer at 4096 : memref<5x7xbf16>
    %c = plan.buffer at 8192 : memref<9x7xf16>
    plan.launch contraction ins(%a, %b : memref<9x5xbf16>, memref<5x7xbf16>) outs(%c : memref<9x7xf16>) {
    ^bb0(%x: tensor<9x5xbf16>, %y: tensor<5x7xbf16>):
      %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<9x5xbf16>, tensor<5x7xbf16> -> tensor<9x7xf16>
      plan.yield %p : tensor<9x7xf16>
    }
  }
}
