// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'plan.launch' op is no norm of contiguous inputs with a scratch
plan.program @p arena 1024 {
  plan.function @update {
    %a = plan.buffer at 0 : memref<64xf32>
    %n = plan.buffer at 256 : memref<f32>
    plan.launch multi_tensor ins(%a : memref<64xf32>) outs(%n : memref<f32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.global_norm %x : (tensor<64xf32>) -> tensor<f32>
      plan.yield %r : tensor<f32>
    }
  }
}
