// RUN: not hone-opt %s --hone-lower-to-kernels 2>&1 | FileCheck %s

// CHECK: error: 'plan.launch' op is no group of equal updates of contiguous inputs
plan.program @p arena 512 {
  plan.argument "a" kind "param" at 0 : tensor<5xf32>
  plan.argument "b" kind "param" at 64 : tensor<8xf32>
  plan.argument "lr" kind "scalar" at 128 : tensor<f32>
  plan.function @update {
    %a = plan.buffer at 0 : memref<5xf32>
    %b = plan.buffer at 64 : memref<8xf32>
    %l = plan.buffer at 128 : memref<f32>
    plan.launch multi_tensor ins(%a, %b, %l : memref<5xf32>, memref<8xf32>, memref<f32>) outs(%a, %b : memref<5xf32>, memref<8xf32>) {
    ^bb0(%x: tensor<5xf32>, %y: tensor<8xf32>, %s: tensor<f32>):
      %m = hone.sgd %x, %x lr %s weight_decay %s grad_scale %s
          : (tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<5xf32>
      %n = hone.sgd %y, %y lr %s weight_decay %s grad_scale %s {decay_scale = 0.0}
          : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
      plan.yield %m, %n : tensor<5xf32>, tensor<8xf32>
    }
  }
}
