// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'plan.launch' op multiplies elements of type 'f64', expected f32, bf16 or f16
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<5xf64>
    %b = plan.buffer at 4096 : memref<7x5xf64>
    %c = plan.buffer at 8192 : memref<7xf64>
    plan.launch contraction ins(%a, %b : memref<5xf64>, memref<7x5xf64>) outs(%c : memref<7xf64>) {
    ^bb0(%x: tensor<5xf64>, %y: tensor<7x5xf64>):
      %p = hone.dot_general %x, %y batch [] x [] contract [0] x [1] : tensor<5xf64>, tensor<7x5xf64> -> tensor<7xf64>
      plan.yield %p : tensor<7xf64>
    }
  }
}
