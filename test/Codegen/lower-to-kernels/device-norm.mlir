// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// The kernels of a global norm find their tensors in the arena: a deep model has more gradients than a kernel may have parameters.

module attributes {hone.target = "cuda sm_90"} {
  // CHECK: gpu.module @hone_device
  // CHECK: gpu.func @k0_multi_tensor_global_norm_f32x1_squares_f32(%{{[^,]*}}: !llvm.ptr) workgroup
  // CHECK: gpu.func @k1_multi_tensor_global_norm_f32x1_root(%[[ARENA:[^,]*]]: !llvm.ptr) workgroup
  // CHECK-DAG: %[[AT:.*]] = arith.constant 320 : i64
  // CHECK-DAG: llvm.getelementptr %[[ARENA]][%[[AT]]]
  plan.program @p arena 1024 {
    plan.argument "a" kind "grad" at 0 : tensor<64xf32>
    plan.argument "b" kind "grad" at 256 : tensor<8xf32>
    plan.function @update {
      %a = plan.buffer at 0 : memref<64xf32>
      %b = plan.buffer at 256 : memref<8xf32>
      %n = plan.buffer at 320 : memref<f32>
      %s = plan.buffer at 384 : memref<2xf32>
      plan.launch multi_tensor ins(%a, %b : memref<64xf32>, memref<8xf32>) outs(%n : memref<f32>) scratch(%s : memref<2xf32>) {
      ^bb0(%x: tensor<64xf32>, %y: tensor<8xf32>):
        %r = hone.global_norm %x, %y : (tensor<64xf32>, tensor<8xf32>) -> tensor<f32>
        plan.yield %r : tensor<f32>
      }
      plan.result "grad_norm", %n : memref<f32>
    }
  }
}
