// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s
// RUN: hone-opt %s --hone-set-target="target=cuda arch=sm_90" --hone-lower-to-kernels | FileCheck %s --check-prefix=GPU

// A kernel raises the largest magnitude of what it makes from 0, which a launch before it writes.
// CHECK: llvm.call @honert_zero
// CHECK: llvm.call @honert_launch(
// CHECK: func.func private @k0_map({{.*}}memref<48xf32>{{.*}}memref<1xi32>
// CHECK: vector.reduction <maxui>
// CHECK: memref.atomic_rmw maxu
// GPU: llvm.call @honert_zero
// GPU: llvm.call @honert_device_launch
// GPU: gpu.func @k0_map_add_amax_f32x48
// GPU: gpu.shuffle
// GPU: llvm.load %{{.+}} atomic monotonic
// GPU: llvm.atomicrmw umax
plan.program @p arena 8192 {
  plan.function @step {
    %in = plan.buffer at 0 : memref<48xf32>
    %out = plan.buffer at 4096 : memref<48xf32>
    %amax = plan.buffer at 4352 : memref<f32>
    plan.launch map ins(%in : memref<48xf32>) outs(%out, %amax : memref<48xf32>, memref<f32>) {
    ^bb0(%x: tensor<48xf32>):
      %y = hone.add %x, %x : tensor<48xf32>
      %a = hone.amax %y : tensor<48xf32>
      plan.yield %y, %a : tensor<48xf32>, tensor<f32>
    }
  }
}
