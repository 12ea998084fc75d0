// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'plan.launch' op writes products of codes as 'f16', expected f32 or bf16
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<16x16xf8E4M3FN>
    %s = plan.buffer at 4096 : memref<f32>
    %c = plan.buffer at 8192 : memref<16x16xf16>
    plan.launch contraction ins(%a, %s : memref<16x16xf8E4M3FN>, memref<f32>) outs(%c : memref<16x16xf16>) {
    ^bb0(%x: tensor<16x16xf8E4M3FN>, %t: tensor<f32>):
      %p = hone.dot_general %x, %x scales %t, %t tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1] : tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<16x16xf16>
      plan.yield %p : tensor<16x16xf16>
    }
  }
}
