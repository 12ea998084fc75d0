// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Two parameters with one gradient: the launch has it once, the norm counts it twice. The kernel's table names the
// buffer of each operand and of the partial sums; tags are the operands' first partial sums. Of the launch, the root
// sees sums and norm only.

// CHECK: llvm.func @hone_program
// CHECK-COUNT-2: call @honert_launch(
// CHECK-NOT: call @honert_launch(
// CHECK: func.func private @k0_multi_tensor(%{{.*}}: memref<64xf32>, %{{.*}}: memref<3xf32>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK: llvm.func @k0_multi_tensor_entry(!llvm.ptr, i64, i64)
// CHECK-SAME: hone.tensors = {buffers = array<i32: 0, 3, 1, 3, 0, 3>, chunk = 16384 : i64,
// CHECK-SAME: sizes = array<i64: 64, 8, 64>, tags = array<i64: 0, 1, 2>}
// CHECK: llvm.func @k1_multi_tensor_entry(!llvm.ptr, i64, i64)
// CHECK-SAME: hone.tensors = {buffers = array<i32: 3, 2>, chunk = 1 : i64, sizes = array<i64: 1>, tags = array<i64: 0>}
plan.program @p arena 1024 {
  plan.argument "a" kind "grad" at 0 : tensor<64xf32>
  plan.argument "b" kind "grad" at 256 : tensor<8xf32>
  plan.function @update {
    %a = plan.buffer at 0 : memref<64xf32>
    %b = plan.buffer at 256 : memref<8xf32>
    %n = plan.buffer at 320 : memref<f32>
    %s = plan.buffer at 384 : memref<3xf32>
    plan.launch multi_tensor ins(%a, %b : memref<64xf32>, memref<8xf32>) outs(%n : memref<f32>) scratch(%s : memref<3xf32>) {
    ^bb0(%x: tensor<64xf32>, %y: tensor<8xf32>):
      %r = hone.global_norm %x, %y, %x : (tensor<64xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<f32>
      plan.yield %r : tensor<f32>
    }
    plan.result "grad_norm", %n : memref<f32>
  }
}
