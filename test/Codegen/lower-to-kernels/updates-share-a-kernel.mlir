// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Two updates are one launch of one kernel, whose buffers are those of the largest tensor.

// CHECK: llvm.func @hone_program
// CHECK-COUNT-1: call @honert_launch(
// CHECK-NOT: call @honert_launch(
// CHECK: func.func private @k0_multi_tensor(%{{[^:]*}}: memref<21xf32>, %{{[^:]*}}: memref<21xbf16>, %{{[^:]*}}: memref<f32>,
// CHECK-SAME: %{{[^:]*}}: memref<f32>, %{{[^:]*}}: memref<f32>, %{{[^:]*}}: memref<21xf32>, %{{[^:]*}}: index,
// CHECK-SAME: %{{[^:]*}}: index, %{{[^:]*}}: index)
// CHECK: llvm.func @k0_multi_tensor_entry
// CHECK-SAME: hone.tensors = {buffers = array<i32: 0, 1, 2, 3, 4, 7, 5, 6, 2, 3, 4, 8>, chunk = 16384 : i64,
// CHECK-SAME: sizes = array<i64: 21, 8>, tags = array<i64: 0, 0>}
plan.program @p arena 1024 {
  plan.argument "a" kind "param" at 0 : tensor<3x7xf32>
  plan.argument "b" kind "param" at 128 : tensor<8xf32>
  plan.argument "a" kind "grad" at 192 : tensor<3x7xbf16>
  plan.argument "b" kind "grad" at 256 : tensor<8xbf16>
  plan.argument "lr" kind "scalar" at 320 : tensor<f32>
  plan.function @update {
    %a = plan.buffer at 0 : memref<3x7xf32>
    %b = plan.buffer at 128 : memref<8xf32>
    %ga = plan.buffer at 192 : memref<3x7xbf16>
    %gb = plan.buffer at 256 : memref<8xbf16>
    %lr = plan.buffer at 320 : memref<f32>
    %wd = plan.buffer at 384 : memref<f32>
    %c = plan.buffer at 448 : memref<f32>
    plan.launch multi_tensor ins(%a, %ga, %lr, %wd, %c, %b, %gb
                          : memref<3x7xf32>, memref<3x7xbf16>, memref<f32>, memref<f32>, memref<f32>, memref<8xf32>, memref<8xbf16>)
                      outs(%a, %b : memref<3x7xf32>, memref<8xf32>) {
    ^bb0(%pa: tensor<3x7xf32>, %xa: tensor<3x7xbf16>, %l: tensor<f32>, %w: tensor<f32>, %s: tensor<f32>, %pb: tensor<8xf32>, %xb: tensor<8xbf16>):
      %na = hone.sgd %pa, %xa lr %l weight_decay %w grad_scale %s
          : (tensor<3x7xf32>, tensor<3x7xbf16>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3x7xf32>
      %nb = hone.sgd %pb, %xb lr %l weight_decay %w grad_scale %s
          : (tensor<8xf32>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
      plan.yield %na, %nb : tensor<3x7xf32>, tensor<8xf32>
    }
  }
}
