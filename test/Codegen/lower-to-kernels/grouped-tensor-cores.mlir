// REQUIRES: device-code
// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s
// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels -o %t.split
// RUN: sed '/^\/\/ -----/,$d' %t.split > %t.mlir
// RUN: device-code %t.mlir sm_80 | FileCheck %s --check-prefix=PTX
// RUN: device-code %t.mlir sm_90 | FileCheck %s --check-prefix=PTX

// A GPU multiplies groups of rows of bf16 on tensor cores: 3 tiles of 128 rows and one more for each group (2) by two of
// 128 columns. 128 terms are 8 products; a warp has 4 x 8 fragments of its quarter in each of the two halves of a step.

// CHECK-LABEL: llvm.func @hone_program
// CHECK-DAG: %[[BLOCKS:.*]] = llvm.mlir.constant(10 : i64)
// CHECK-DAG: %[[THREADS:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: llvm.call @honert_device_launch({{.*}}, %[[BLOCKS]], %[[THREADS]],
// CHECK-LABEL: gpu.func @{{.*}}grouped_dot_bf16x200
// CHECK-SAME: memref<49152xi8, #gpu.address_space<workgroup>>
// CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.cg.shared.global.16.s"
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK: llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
// CHECK: llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
// CHECK-COUNT-64: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// CHECK-NOT: mma.m16n8k16
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.return

// PTX: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, %r
// PTX: cp.async.wait_group 1
// PTX-NEXT: bar.sync 0
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX: shfl.sync.bfly.b32
// PTX: st.global.v4.u32
module attributes {hone.target = "cuda sm_90"} {
plan.program @p arena 1048576 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<300x128xbf16>
    %b = plan.buffer at 131072 : memref<2x128x200xbf16>
    %e = plan.buffer at 524288 : memref<2xi32>
    %c = plan.buffer at 655360 : memref<300x200xbf16>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<300x128xbf16>, memref<2x128x200xbf16>, memref<2xi32>)
        outs(%c : memref<300x200xbf16>) {
    ^bb0(%x: tensor<300x128xbf16>, %w: tensor<2x128x200xbf16>, %ends: tensor<2xi32>):
      %y = hone.grouped_dot %x, %w, %ends contract 1
          : tensor<300x128xbf16>, tensor<2x128x200xbf16>, tensor<2xi32> -> tensor<300x200xbf16>
      plan.yield %y : tensor<300x200xbf16>
    }
  }
}
}

// -----

// Rows of 6 elements can be copied by 4 bytes, those of 7 by none: they are loaded. Sums of rows have a block for each
// matrix and tile of 64 by 64.

// CHECK-DAG: %[[BLOCKS:.*]] = llvm.mlir.constant(3 : i64)
// CHECK-DAG: %[[THREADS:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: llvm.call @honert_device_launch({{.*}}, %[[THREADS]],
// CHECK-LABEL: gpu.func @{{.*}}grouped_dot_bwd_weight_f32x7
// CHECK-SAME: memref<24576xi8, #gpu.address_space<workgroup>>
// CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.4.s"
// CHECK: llvm.load {{.*}} -> i16
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// CHECK-NOT: mma.m16n8k16
module attributes {hone.target = "cuda sm_90"} {
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xf16>
    %b = plan.buffer at 256 : memref<9x7xf16>
    %e = plan.buffer at 1024 : memref<3xi64>
    %c = plan.buffer at 2048 : memref<3x6x7xf32>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xf16>, memref<9x7xf16>, memref<3xi64>)
        outs(%c : memref<3x6x7xf32>) {
    ^bb0(%x: tensor<9x6xf16>, %g: tensor<9x7xf16>, %ends: tensor<3xi64>):
      %y = hone.grouped_dot_bwd_weight %x, %g, %ends
          : tensor<9x6xf16>, tensor<9x7xf16>, tensor<3xi64> -> tensor<3x6x7xf32>
      plan.yield %y : tensor<3x6x7xf32>
    }
  }
}
}

// -----

// Tensor cores would drop bits of f32.

// CHECK-LABEL: gpu.func @{{.*}}grouped_dot_f32x7
// CHECK-NOT: mma.m16n8k16
// CHECK: gpu.return
module attributes {hone.target = "cuda sm_90"} {
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xf32>
    %b = plan.buffer at 512 : memref<3x6x7xf32>
    %e = plan.buffer at 2048 : memref<3xi32>
    %c = plan.buffer at 4096 : memref<9x7xf32>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xf32>, memref<3x6x7xf32>, memref<3xi32>)
        outs(%c : memref<9x7xf32>) {
    ^bb0(%x: tensor<9x6xf32>, %w: tensor<3x6x7xf32>, %ends: tensor<3xi32>):
      %y = hone.grouped_dot %x, %w, %ends contract 1
          : tensor<9x6xf32>, tensor<3x6x7xf32>, tensor<3xi32> -> tensor<9x7xf32>
      plan.yield %y : tensor<9x7xf32>
    }
  }
}
}

// -----

// Sums that do not depend on the mesh have an order of their own.

// CHECK-LABEL: gpu.func @{{.*}}grouped_dot_bf16x7
// CHECK-NOT: mma.m16n8k16
// CHECK: gpu.return
module attributes {hone.target = "cuda sm_90", hone.mesh_invariant} {
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xbf16>
    %b = plan.buffer at 512 : memref<3x6x7xbf16>
    %e = plan.buffer at 2048 : memref<3xi32>
    %c = plan.buffer at 4096 : memref<9x7xbf16>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xbf16>, memref<3x6x7xbf16>, memref<3xi32>)
        outs(%c : memref<9x7xbf16>) {
    ^bb0(%x: tensor<9x6xbf16>, %w: tensor<3x6x7xbf16>, %ends: tensor<3xi32>):
      %y = hone.grouped_dot %x, %w, %ends contract 1
          : tensor<9x6xbf16>, tensor<3x6x7xbf16>, tensor<3xi32> -> tensor<9x7xbf16>
      plan.yield %y : tensor<9x7xbf16>
    }
  }
}
}
