// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s

// A work item is a key head with the two query heads that share it: 2 batches
// of 3 key heads. Its gradients of keys and values start from zero and
// accumulate in place; that of the query stays on the stack until it is done.

// CHECK:       %[[ITEMS:.*]] = llvm.mlir.constant(6 : i64)
// CHECK:       llvm.call @honert_launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ITEMS]],
// CHECK-LABEL: func.func private @k0_attention
// CHECK-SAME:    (%[[DO:.*]]: memref<2x64x6x32xf32> {{.*}}, %[[Q:.*]]: memref<2x64x6x32xf32> {{.*}}, %[[K:.*]]: memref<2x64x3x32xf32> {{.*}}, %[[V:.*]]: memref<2x64x3x32xf32> {{.*}}, %[[O:.*]]: memref<2x64x6x32xf32> {{.*}}, %[[LSE:.*]]: memref<2x6x64xf32> {{.*}}, %[[DQ:.*]]: memref<2x64x6x32xf32> {{.*}}, %[[DK:.*]]: memref<2x64x3x32xf32> {{.*}}, %[[DV:.*]]: memref<2x64x3x32xf32> {{.*}}, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:         scf.for %{{.*}} = %[[LO]] to %[[HI]]
// CHECK-NOT:     alloca
// CHECK:           vector.store %[[ZERO]], %[[DK]]
// CHECK:           vector.store %[[ZERO]], %[[DV]]
// CHECK:           scf.for %{{.*}} to %[[C2]]
// CHECK:             vector.load %[[LSE]]
// s = k q and dp = v grad:
// CHECK:             memref.load %[[K]]
// CHECK:             memref.load %[[V]]
// CHECK:             math.exp
// dv += p grad, from the first query that sees the keys:
// CHECK:             vector.load %[[DV]]
// CHECK:             %[[FIRST:.*]] = arith.maxsi
// CHECK:             %{{.*}}:16 = scf.for %{{.*}} = %[[FIRST]]
// CHECK:               vector.load %[[DO]]
// CHECK:             vector.store %{{.*}}, %[[DV]]
// dk += ds q:
// CHECK:             vector.load %[[DK]]
// CHECK:               vector.load %[[Q]]
// CHECK:             vector.store %{{.*}}, %[[DK]]
// dq += ds k:
// CHECK-NOT:         %[[DQ]]
// CHECK:             memref.load %[[K]]
// CHECK:             vector.store %{{.*}}, %[[DQ]]
plan.program @grouped arena 4194304 {
  plan.function @step {
    %do = plan.buffer at 0 : memref<2x64x6x32xf32>
    %q = plan.buffer at 131072 : memref<2x64x6x32xf32>
    %k = plan.buffer at 262144 : memref<2x64x3x32xf32>
    %v = plan.buffer at 393216 : memref<2x64x3x32xf32>
    %o = plan.buffer at 524288 : memref<2x64x6x32xf32>
    %lse = plan.buffer at 655360 : memref<2x6x64xf32>
    %dq = plan.buffer at 1048576 : memref<2x64x6x32xf32>
    %dk = plan.buffer at 2097152 : memref<2x64x3x32xf32>
    %dv = plan.buffer at 3145728 : memref<2x64x3x32xf32>
    plan.launch attention
        ins(%do, %q, %k, %v, %o, %lse : memref<2x64x6x32xf32>, memref<2x64x6x32xf32>, memref<2x64x3x32xf32>,
            memref<2x64x3x32xf32>, memref<2x64x6x32xf32>, memref<2x6x64xf32>)
        outs(%dq, %dk, %dv : memref<2x64x6x32xf32>, memref<2x64x3x32xf32>, memref<2x64x3x32xf32>) {
    ^bb0(%a: tensor<2x64x6x32xf32>, %b: tensor<2x64x6x32xf32>, %c: tensor<2x64x3x32xf32>, %d: tensor<2x64x3x32xf32>,
         %e: tensor<2x64x6x32xf32>, %f: tensor<2x6x64xf32>):
      %x, %y, %z = hone.attention_bwd %a, %b, %c, %d, %e, %f causal scale 0.125
          : (tensor<2x64x6x32xf32>, tensor<2x64x6x32xf32>, tensor<2x64x3x32xf32>, tensor<2x64x3x32xf32>,
             tensor<2x64x6x32xf32>, tensor<2x6x64xf32>)
          -> (tensor<2x64x6x32xf32>, tensor<2x64x3x32xf32>, tensor<2x64x3x32xf32>)
      plan.yield %x, %y, %z : tensor<2x64x6x32xf32>, tensor<2x64x3x32xf32>, tensor<2x64x3x32xf32>
    }
  }
}

// -----

// Gradients that nothing reads are not computed: two products for the scores
// and theirs, one for the value's gradient. Results may come in any order.

// CHECK-LABEL:   func.func private @k0_attention
// CHECK-SAME:      %[[DV:[a-z0-9]*]]: memref<1x16x1x16xf32> {llvm.noalias}, %{{[a-z0-9]*}}: index
// CHECK-COUNT-3:   :8 = scf.for
// CHECK-NOT:       :8 = scf.for
plan.program @value_only arena 4194304 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf32>
    %lse = plan.buffer at 4096 : memref<1x1x16xf32>
    %dv = plan.buffer at 8192 : memref<1x16x1x16xf32>
    plan.launch attention ins(%x, %lse : memref<1x16x1x16xf32>, memref<1x1x16xf32>) outs(%dv : memref<1x16x1x16xf32>) {
    ^bb0(%a: tensor<1x16x1x16xf32>, %b: tensor<1x1x16xf32>):
      %x0, %y0, %z0 = hone.attention_bwd %a, %a, %a, %a, %a, %b scale 0.25
          : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>,
             tensor<1x16x1x16xf32>, tensor<1x1x16xf32>)
          -> (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>)
      plan.yield %z0 : tensor<1x16x1x16xf32>
    }
  }
}

// -----

// Dropout masks the probabilities for the value's gradient, and the gradient
// of the masked ones; the words are made once.

// CHECK-LABEL: func.func private @k0_attention_body
// CHECK:         %[[P:.*]] = math.exp
// CHECK:         %[[KEPT:.*]] = arith.cmpi uge, %[[WORD:.*]], %[[BOUND:.*]] : vector<16xi32>
// CHECK:         %[[PZ:.*]] = arith.mulf %[[P]]
// CHECK:         arith.select %[[KEPT]], %[[PZ]]
// CHECK:         %[[KEPT2:.*]] = arith.cmpi uge, %[[WORD]], %{{.*}} : vector<16xi32>
// CHECK:         %[[DPZ:.*]] = arith.select %[[KEPT2]]
// CHECK:         %[[CENTRED:.*]] = arith.subf %[[DPZ]]
// CHECK:         arith.mulf %[[P]], %[[CENTRED]]
plan.program @dropout arena 4194304 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x16x1x16xf32>
    %lse = plan.buffer at 4096 : memref<1x1x16xf32>
    %rng = plan.buffer at 8192 : memref<3xi64>
    %dq = plan.buffer at 16384 : memref<1x16x1x16xf32>
    plan.launch attention ins(%x, %lse, %rng : memref<1x16x1x16xf32>, memref<1x1x16xf32>, memref<3xi64>)
        outs(%dq : memref<1x16x1x16xf32>) {
    ^bb0(%a: tensor<1x16x1x16xf32>, %b: tensor<1x1x16xf32>, %c: tensor<3xi64>):
      %x0, %y0, %z0 = hone.attention_bwd %a, %a, %a, %a, %a, %b rng %c scale 0.25 dropout 0.5
          : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>,
             tensor<1x16x1x16xf32>, tensor<1x1x16xf32>, tensor<3xi64>)
          -> (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>)
      plan.yield %x0 : tensor<1x16x1x16xf32>
    }
  }
}
