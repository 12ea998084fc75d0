// With dropout a kernel writes what the library's generator starts from, once per attention: its salt is a constant there.
// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// CHECK: hone.attention_plans = [{{\[}}"forward bf16 {{.*}} dropout 0.10000000000000001 deterministic 0
// CHECK-DAG: constant @[[KERNEL:.*]](dense<[0, 64, 16384, 32768, 40960]>
// CHECK-DAG: constant @[[CALL:.*]](dense<[64, 64, 64, 16384, 32768, 40960]>
// CHECK: llvm.func @hone_program
// CHECK: addressof @[[KERNEL]]
// CHECK: llvm.call @honert_device_launch
// CHECK: addressof @[[CALL]]
// CHECK: llvm.call @honert_attention
// CHECK: gpu.func @k0_attention
// CHECK-SAME: (%[[KEY:[a-z0-9]+]]: !llvm.ptr
// CHECK-SAME: %[[SEED:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}) kernel
// CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK-DAG: arith.constant 77 : i64
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 65536 {
    plan.function @step {
      %key = plan.buffer at 0 : memref<3xi64>
      %q = plan.buffer at 64 : memref<2x24x4x16xbf16>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 32768 : memref<2x4x24xf32>
      %seed = plan.buffer at 40960 : memref<2xi64>
      plan.launch attention ins(%key, %q : memref<3xi64>, memref<2x24x4x16xbf16>)
          outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) scratch(%seed : memref<2xi64>) {
      ^bb0(%rng: tensor<3xi64>, %a: tensor<2x24x4x16xbf16>):
        %r, %s = hone.attention %a, %a, %a rng %rng scale 0.25 dropout 0.1 salt 77 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<3xi64>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
    }
  }
}
