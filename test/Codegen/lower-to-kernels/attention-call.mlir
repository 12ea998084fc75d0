// Attention of a GPU's library: the problem has the strides of the launch's buffers, the workspace begins at a multiple of
// 256 bytes, and results that nothing reads have a place too. Equal problems share a plan, which others define.
// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// The location of the first launch of each problem, and what the memory plan has for it.
// CHECK: module attributes {{.*}}hone.attention_plans = [
// CHECK-SAME: ["forward bf16 batch 2 heads 4 2 positions 24 24 width 16 16 scale 0.25 causal 1 dropout 0 deterministic 0
// CHECK-SAME: query 3072,128,16 key 3072,128,16 value 3072,128,16 result 1536,64,16", 0, #loc
// CHECK-SAME: ["backward bf16 batch 2 heads 4 2 positions 24 24 width 16 16 scale 0.25 causal 1 dropout 0 deterministic 1
// CHECK-SAME: query 3072,128,16 key 3072,128,16 value 3072,128,16 result 1536,64,16
// CHECK-SAME: result_grad 1536,64,16 query_grad 3072,128,16 key_grad 3072,128,16 value_grad 768,32,16", 1000, #loc

// Query, key, value, result, lse; and of the gradient their gradients.
// CHECK-DAG: constant @[[FORWARD:.*]](dense<[0, 128, 192, 16384, 65536]>
// CHECK-DAG: constant @[[AGAIN:.*]](dense<[0, 128, 192, 32768, 81920]>
// CHECK-DAG: constant @[[BACKWARD:.*]](dense<[0, 128, 192, 16384, 65536, 32768, 40960, 41088, 86016]>
// CHECK: llvm.func @hone_program
// CHECK: %[[A:.*]] = llvm.mlir.addressof @[[FORWARD]]
// CHECK: llvm.call @honert_attention(%arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[A]], %[[ZERO:.*]], %[[ZERO]])
// CHECK-NEXT: llvm.call @hone_attention_plan_0(%arg0)
// CHECK: %[[B:.*]] = llvm.mlir.addressof @[[AGAIN]]
// CHECK: llvm.call @honert_attention(%arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[B]], %[[ZERO]], %[[ZERO]])
// CHECK-NEXT: llvm.call @hone_attention_plan_0(%arg0)
// CHECK: %[[C:.*]] = llvm.mlir.addressof @[[BACKWARD]]
// CHECK-DAG: %[[AT:.*]] = llvm.mlir.constant(98560 : i64)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(1000 : i64)
// CHECK: llvm.call @honert_attention(%arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]], %[[AT]], %[[BYTES]])
// CHECK-NEXT: llvm.call @hone_attention_plan_1(%arg0)
module attributes {hone.target = "cuda sm_90"} {
  plan.program @p arena 131072 {
    plan.function @step {
      %packed = plan.buffer at 0 : memref<2x24x128xbf16>
      %q = plan.view %packed at 0 : memref<2x24x128xbf16> to memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>
      %k = plan.view %packed at 128 : memref<2x24x128xbf16> to memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>
      %v = plan.view %packed at 192 : memref<2x24x128xbf16> to memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>
      %o = plan.buffer at 16384 : memref<2x24x4x16xbf16>
      %l = plan.buffer at 65536 : memref<2x4x24xf32>
      plan.launch attention ins(%q, %k, %v
          : memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>, memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>,
            memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>)
          outs(%o, %l : memref<2x24x4x16xbf16>, memref<2x4x24xf32>) {
      ^bb0(%a: tensor<2x24x4x16xbf16>, %b: tensor<2x24x2x16xbf16>, %c: tensor<2x24x2x16xbf16>):
        %r, %s = hone.attention %a, %b, %c causal scale 0.25 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x16xbf16>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r, %s : tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>
      }
      %p = plan.buffer at 32768 : memref<2x24x4x16xbf16>
      %m = plan.buffer at 81920 : memref<2x4x24xf32>
      plan.launch attention ins(%q, %k, %v
          : memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>, memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>,
            memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>)
          outs(%p : memref<2x24x4x16xbf16>) scratch(%m : memref<2x4x24xf32>) {
      ^bb0(%a: tensor<2x24x4x16xbf16>, %b: tensor<2x24x2x16xbf16>, %c: tensor<2x24x2x16xbf16>):
        %r, %s = hone.attention %a, %b, %c causal scale 0.25 {hone.workspace = 0 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x16xbf16>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
        plan.yield %r : tensor<2x24x4x16xbf16>
      }
      %grads = plan.buffer at 40960 : memref<2x24x128xbf16>
      %dq = plan.view %grads at 0 : memref<2x24x128xbf16> to memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>
      %dk = plan.view %grads at 128 : memref<2x24x128xbf16> to memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>
      %dv = plan.buffer at 86016 : memref<2x24x2x16xbf16>
      %w = plan.buffer at 98368 : memref<1192xi8>
      plan.launch attention ins(%p, %q, %k, %v, %o, %l
          : memref<2x24x4x16xbf16>, memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>,
            memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>, memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>,
            memref<2x24x4x16xbf16>, memref<2x4x24xf32>)
          outs(%dk, %dq : memref<2x24x2x16xbf16, strided<[3072, 128, 16, 1]>>,
                          memref<2x24x4x16xbf16, strided<[3072, 128, 16, 1]>>)
          scratch(%w, %dv : memref<1192xi8>, memref<2x24x2x16xbf16>) {
      ^bb0(%g: tensor<2x24x4x16xbf16>, %a: tensor<2x24x4x16xbf16>, %b: tensor<2x24x2x16xbf16>,
           %c: tensor<2x24x2x16xbf16>, %r: tensor<2x24x4x16xbf16>, %s: tensor<2x4x24xf32>):
        %x, %y, %z = hone.attention_bwd %g, %a, %b, %c, %r, %s causal scale 0.25
            {hone.deterministic, hone.workspace = 1000 : i64}
            : (tensor<2x24x4x16xbf16>, tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x16xbf16>,
               tensor<2x24x4x16xbf16>, tensor<2x4x24xf32>)
            -> (tensor<2x24x4x16xbf16>, tensor<2x24x2x16xbf16>, tensor<2x24x2x16xbf16>)
        plan.yield %y, %x : tensor<2x24x2x16xbf16>, tensor<2x24x4x16xbf16>
      }
    }
  }
}
