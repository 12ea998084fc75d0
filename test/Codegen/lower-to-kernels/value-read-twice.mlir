// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// 40 ops that read one value twice each: there are 2^40 paths through them, and 40 ops to emit, in each sweep.

// CHECK-LABEL: func.func private @k0_row
// CHECK: scf.for
// CHECK-COUNT-40: arith.addf
// CHECK: vector.reduction <add>
// CHECK: memref.store
plan.program @p arena 8192 {
  plan.function @step {
    %in = plan.buffer at 0 : memref<4x48xf32>
    %out = plan.buffer at 4096 : memref<4xf32>
    plan.launch row ins(%in : memref<4x48xf32>) outs(%out : memref<4xf32>) {
    ^bb0(%x0: tensor<4x48xf32>):
      %x1 = hone.add %x0, %x0 : tensor<4x48xf32>
      %x2 = hone.add %x1, %x1 : tensor<4x48xf32>
      %x3 = hone.add %x2, %x2 : tensor<4x48xf32>
      %x4 = hone.add %x3, %x3 : tensor<4x48xf32>
      %x5 = hone.add %x4, %x4 : tensor<4x48xf32>
      %x6 = hone.add %x5, %x5 : tensor<4x48xf32>
      %x7 = hone.add %x6, %x6 : tensor<4x48xf32>
      %x8 = hone.add %x7, %x7 : tensor<4x48xf32>
      %x9 = hone.add %x8, %x8 : tensor<4x48xf32>
      %x10 = hone.add %x9, %x9 : tensor<4x48xf32>
      %x11 = hone.add %x10, %x10 : tensor<4x48xf32>
      %x12 = hone.add %x11, %x11 : tensor<4x48xf32>
      %x13 = hone.add %x12, %x12 : tensor<4x48xf32>
      %x14 = hone.add %x13, %x13 : tensor<4x48xf32>
      %x15 = hone.add %x14, %x14 : tensor<4x48xf32>
      %x16 = hone.add %x15, %x15 : tensor<4x48xf32>
      %x17 = hone.add %x16, %x16 : tensor<4x48xf32>
      %x18 = hone.add %x17, %x17 : tensor<4x48xf32>
      %x19 = hone.add %x18, %x18 : tensor<4x48xf32>
      %x20 = hone.add %x19, %x19 : tensor<4x48xf32>
      %x21 = hone.add %x20, %x20 : tensor<4x48xf32>
      %x22 = hone.add %x21, %x21 : tensor<4x48xf32>
      %x23 = hone.add %x22, %x22 : tensor<4x48xf32>
      %x24 = hone.add %x23, %x23 : tensor<4x48xf32>
      %x25 = hone.add %x24, %x24 : tensor<4x48xf32>
      %x26 = hone.add %x25, %x25 : tensor<4x48xf32>
      %x27 = hone.add %x26, %x26 : tensor<4x48xf32>
      %x28 = hone.add %x27, %x27 : tensor<4x48xf32>
      %x29 = hone.add %x28, %x28 : tensor<4x48xf32>
      %x30 = hone.add %x29, %x29 : tensor<4x48xf32>
      %x31 = hone.add %x30, %x30 : tensor<4x48xf32>
      %x32 = hone.add %x31, %x31 : tensor<4x48xf32>
      %x33 = hone.add %x32, %x32 : tensor<4x48xf32>
      %x34 = hone.add %x33, %x33 : tensor<4x48xf32>
      %x35 = hone.add %x34, %x34 : tensor<4x48xf32>
      %x36 = hone.add %x35, %x35 : tensor<4x48xf32>
      %x37 = hone.add %x36, %x36 : tensor<4x48xf32>
      %x38 = hone.add %x37, %x37 : tensor<4x48xf32>
      %x39 = hone.add %x38, %x38 : tensor<4x48xf32>
      %x40 = hone.add %x39, %x39 : tensor<4x48xf32>
      %sum = hone.reduce sum %x40 dims [1] : tensor<4x48xf32> -> tensor<4xf32>
      plan.yield %sum : tensor<4xf32>
    }
  }
}
