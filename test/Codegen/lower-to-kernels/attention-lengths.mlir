// Where queries begin at a position, a kernel writes the lengths of sequences that the library reads: that of the run, and
// how many keys its last query sees.
// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// CHECK: hone.attention_plans = [{{\[}}"forward bf16 batch 2 heads 4 4 positions 24 96 {{.*}} causal lengths dropout 0 deterministic 0
// CHECK-DAG: constant @[[KERNEL:.*]](dense<[0, 64, 16384, 65536, 81920, 98304]>
// CHECK-DAG: constant @[[CALL:.*]](dense<[64, 16384, 16384, 65536, 81920, 98304]>
// CHECK: llvm.func @hone_program
// CHECK: addressof @[[KERNEL]]
// CHECK: llvm.call @honert_device_launch
// CHECK: addressof @[[CALL]]
// CHECK: llvm.call @honert_attention
// CHECK: gpu.func @k0_attention
// CHECK-SAME: (%[[FIRST:[a-z0-9]+]]: !llvm.ptr
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}) kernel
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 24 : i32
// CHECK: %[[AT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: %[[NARROW:.*]] = arith.trunci %[[AT]] : i64 to i32
// CHECK: %[[KEYS:.*]] = arith.addi %[[NARROW]], %[[COUNT]] : i32
// CHECK: llvm.store %[[COUNT]]
// CHECK: llvm.store %[[KEYS]]
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 131072 {
    plan.function @step {
      %first = plan.buffer at 0 : memref<1xi64>
      %q = plan.buffer at 64 : memref<2x24x4x16xbf16>
      %k = plan.buffer at 16384 : memref<2x96x4x16xbf16>
      %o = plan.buffer at 65536 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 81920 : memref<2x4x24xf32>
      %lengths = plan.buffer at 98304 : memref<2x2xi32>
      plan.launch attention ins(%first, %q, %k : memref<1xi64>, memref<2x24x4x16xbf16>, memref<2x96x4x16xbf16>)
          outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) scratch(%lengths : memref<2x2xi32>) {
      ^bb0(%f: tensor<1xi64>, %a: tensor<2x24x4x16xbf16>, %b: tensor<2x96x4x16xbf16>):
        %r, %s = hone.attention %a, %b, %b mask %f causal scale 0.25 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x96x4x16xbf16>, tensor<2x96x4x16xbf16>, tensor<1xi64>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
    }
  }
}
