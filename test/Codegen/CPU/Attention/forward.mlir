// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s

// Operands are read where they are, blocks of 64 x 64 scores live on the stack.

// CHECK-LABEL: func.func private @k0_attention
// CHECK-SAME:    (%[[Q:.*]]: memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>> {{.*}}, %[[K:.*]]: memref{{.*}}, %[[V:.*]]: memref{{.*}}, %[[O:.*]]: memref<2x128x4x32xf32> {{.*}}, %[[LSE:.*]]: memref<2x4x128xf32> {{.*}}, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant dense<1.250000e-01> : vector<16xf32>
// CHECK-DAG:     %[[SCORES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>
// CHECK-NOT:     128x128
// CHECK:         scf.for %{{.*}} = %[[LO]] to %[[HI]]
// CHECK-NOT:     alloca
// The query is packed transposed and scaled:
// CHECK:         vector.load %[[Q]]
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:         vector.shuffle
// Blocks of keys up to the diagonal:
// CHECK:         %[[END:.*]] = arith.minsi
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[END]] step %[[C64]]
// Panels of 8 keys by 32 queries, 16 vectors in registers:
// CHECK:           scf.for %{{.*}} step %[[C32]]
// CHECK:             scf.for %{{.*}} step %[[C8]]
// CHECK:               %{{.*}}:16 = scf.for
// CHECK-COUNT-8:         memref.load %[[K]]
// CHECK-NOT:             memref.load
// CHECK:               vector.store %{{.*}}, %[[SCORES]]
// The diagonal alone is masked:
// CHECK:           scf.if
// CHECK:             arith.cmpi sle
// CHECK:             arith.select
// CHECK:           math.exp
// CHECK:           %{{.*}}:16 = scf.for
// CHECK-COUNT-8:     memref.load %[[V]]
// CHECK:         math.log
// CHECK:         vector.store %{{.*}}, %[[LSE]]
// CHECK:         vector.store %{{.*}}, %[[O]]
plan.program @packed arena 4194304 {
  plan.function @step {
    %q = plan.buffer at 0 : memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>
    %k = plan.buffer at 512 : memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>
    %v = plan.buffer at 1024 : memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>
    %o = plan.buffer at 1048576 : memref<2x128x4x32xf32>
    %lse = plan.buffer at 2097152 : memref<2x4x128xf32>
    plan.launch attention
        ins(%q, %k, %v : memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>,
            memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>,
            memref<2x128x4x32xf32, strided<[49152, 384, 32, 1]>>)
        outs(%o, %lse : memref<2x128x4x32xf32>, memref<2x4x128xf32>) {
    ^bb0(%a: tensor<2x128x4x32xf32>, %b: tensor<2x128x4x32xf32>, %c: tensor<2x128x4x32xf32>):
      %r, %l = hone.attention %a, %b, %c causal scale 0.125
          : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>)
          -> (tensor<2x128x4x32xf32>, tensor<2x4x128xf32>)
      plan.yield %r, %l : tensor<2x128x4x32xf32>, tensor<2x4x128xf32>
    }
  }
}

// -----

// One query head in three shares a key head; the number of work items is that
// of query blocks: 2 batches, 6 heads, 2 blocks.

// CHECK:       %[[ITEMS:.*]] = llvm.mlir.constant(24 : i64)
// CHECK:       llvm.call @honert_launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ITEMS]],
// CHECK-LABEL: func.func private @k0_attention
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C6:.*]] = arith.constant 6 : index
// CHECK:         %[[HEAD:.*]] = arith.remui %{{.*}}, %[[C6]]
// CHECK:         arith.divui %[[HEAD]], %[[C3]]
// CHECK-NOT:     scf.if
plan.program @grouped arena 4194304 {
  plan.function @step {
    %q = plan.buffer at 0 : memref<2x100x6x16xf32>
    %k = plan.buffer at 131072 : memref<2x40x2x16xf32>
    %v = plan.buffer at 262144 : memref<2x40x2x16xf32>
    %o = plan.buffer at 524288 : memref<2x100x6x16xf32>
    plan.launch attention
        ins(%q, %k, %v : memref<2x100x6x16xf32>, memref<2x40x2x16xf32>, memref<2x40x2x16xf32>)
        outs(%o : memref<2x100x6x16xf32>) {
    ^bb0(%a: tensor<2x100x6x16xf32>, %b: tensor<2x40x2x16xf32>, %c: tensor<2x40x2x16xf32>):
      %r, %l = hone.attention %a, %b, %c scale 0.25
          : (tensor<2x100x6x16xf32>, tensor<2x40x2x16xf32>, tensor<2x40x2x16xf32>)
          -> (tensor<2x100x6x16xf32>, tensor<2x6x100xf32>)
      plan.yield %r : tensor<2x100x6x16xf32>
    }
  }
}

// -----

// Sizes that are no multiples of 16 or 8: rows past the end repeat the last,
// elements past the end of a row are neither read nor written.

// CHECK-LABEL: func.func private @k0_attention
// CHECK-SAME:    (%[[Q:.*]]: memref<1x20x2x5xf32> {{.*}}, %[[K:.*]]: memref<1x21x2x5xf32> {{.*}}, %[[V:.*]]: memref<1x21x2x3xf32> {{.*}}, %[[O:.*]]: memref<1x20x2x3xf32> {{.*}}, %[[LSE:.*]]: memref<1x2x20xf32>
// CHECK-DAG:     %[[FIVE:.*]] = arith.constant dense<[true, true, true, true, true, false, false
// CHECK-DAG:     %[[THREE:.*]] = arith.constant dense<[true, true, true, false, false
// CHECK-NOT:     vector.load %[[Q]]
// CHECK:         arith.minsi
// CHECK:         vector.maskedload %[[Q]]{{.*}}, %[[FIVE]]
// CHECK:         arith.minsi
// CHECK:         memref.load %[[K]]
// CHECK:         vector.create_mask
// CHECK:         vector.maskedstore %[[LSE]]
// CHECK-NOT:     vector.store %{{.*}}, %[[O]]
// CHECK:         vector.maskedstore %[[O]]{{.*}}, %[[THREE]]
plan.program @tails arena 4194304 {
  plan.function @step {
    %q = plan.buffer at 0 : memref<1x20x2x5xf32>
    %k = plan.buffer at 1024 : memref<1x21x2x5xf32>
    %v = plan.buffer at 2048 : memref<1x21x2x3xf32>
    %o = plan.buffer at 4096 : memref<1x20x2x3xf32>
    %lse = plan.buffer at 8192 : memref<1x2x20xf32>
    plan.launch attention
        ins(%q, %k, %v : memref<1x20x2x5xf32>, memref<1x21x2x5xf32>, memref<1x21x2x3xf32>)
        outs(%o, %lse : memref<1x20x2x3xf32>, memref<1x2x20xf32>) {
    ^bb0(%a: tensor<1x20x2x5xf32>, %b: tensor<1x21x2x5xf32>, %c: tensor<1x21x2x3xf32>):
      %r, %l = hone.attention %a, %b, %c scale 1.0
          : (tensor<1x20x2x5xf32>, tensor<1x21x2x5xf32>, tensor<1x21x2x3xf32>)
          -> (tensor<1x20x2x3xf32>, tensor<1x2x20xf32>)
      plan.yield %r, %l : tensor<1x20x2x3xf32>, tensor<1x2x20xf32>
    }
  }
}

// -----

// A mask for all heads is read at head 0, in transposed blocks. A row that it
// hides whole subtracts 0 in place of -inf, and ends as NaN.

// CHECK-LABEL: func.func private @k0_attention
// CHECK-SAME:    %[[MASK:[a-z0-9]*]]: memref<1x1x32x48xf32>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG:     %[[INF:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK:         vector.load %[[MASK]][%[[C0]], %[[C0]],
// CHECK:         %[[HIDDEN:.*]] = arith.cmpf oeq, %[[MAX:.*]], %[[INF]]
// CHECK:         arith.select %[[HIDDEN]], %[[ZERO]], %[[MAX]]
// CHECK:         arith.divf
// CHECK:         %[[NONE:.*]] = arith.cmpf oeq, %{{.*}}, %[[INF]]
// CHECK:         arith.select %[[NONE]], %[[ZERO]], %{{.*}}
plan.program @masked arena 4194304 {
  plan.function @step {
    %q = plan.buffer at 0 : memref<2x32x2x16xf32>
    %k = plan.buffer at 16384 : memref<2x48x2x16xf32>
    %v = plan.buffer at 32768 : memref<2x48x2x16xf32>
    %m = plan.buffer at 65536 : memref<1x1x32x48xf32>
    %o = plan.buffer at 131072 : memref<2x32x2x16xf32>
    plan.launch attention
        ins(%q, %k, %v, %m : memref<2x32x2x16xf32>, memref<2x48x2x16xf32>, memref<2x48x2x16xf32>, memref<1x1x32x48xf32>)
        outs(%o : memref<2x32x2x16xf32>) {
    ^bb0(%a: tensor<2x32x2x16xf32>, %b: tensor<2x48x2x16xf32>, %c: tensor<2x48x2x16xf32>, %d: tensor<1x1x32x48xf32>):
      %r, %l = hone.attention %a, %b, %c mask %d scale 0.25
          : (tensor<2x32x2x16xf32>, tensor<2x48x2x16xf32>, tensor<2x48x2x16xf32>, tensor<1x1x32x48xf32>)
          -> (tensor<2x32x2x16xf32>, tensor<2x2x32xf32>)
      plan.yield %r : tensor<2x32x2x16xf32>
    }
  }
}

// -----

// Layers that differ in the salt of their dropout share one body.

// CHECK-COUNT-1: func.func private @k0_attention_body
// CHECK-SAME:      i64, %{{.*}}: index, %{{.*}}: index)
// CHECK-NOT:     _body(
// CHECK-LABEL: func.func private @k0_attention(
// CHECK:         %[[SALT:.*]] = arith.constant 7 : i64
// CHECK:         call @k0_attention_body({{.*}}, %[[SALT]], %{{.*}}, %{{.*}})
// CHECK-NOT:     _body(%
// CHECK-LABEL: func.func private @k1_attention(
// CHECK:         %[[SALT:.*]] = arith.constant 8 : i64
// CHECK:         call @k0_attention_body({{.*}}, %[[SALT]], %{{.*}}, %{{.*}})
plan.program @dropout arena 4194304 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x32x2x16xf32>
    %rng = plan.buffer at 16384 : memref<3xi64>
    %y = plan.buffer at 32768 : memref<1x32x2x16xf32>
    %z = plan.buffer at 65536 : memref<1x32x2x16xf32>
    plan.launch attention ins(%x, %rng : memref<1x32x2x16xf32>, memref<3xi64>) outs(%y : memref<1x32x2x16xf32>) {
    ^bb0(%a: tensor<1x32x2x16xf32>, %b: tensor<3xi64>):
      %r, %l = hone.attention %a, %a, %a rng %b scale 0.25 dropout 0.1 salt 7
          : (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<3xi64>)
          -> (tensor<1x32x2x16xf32>, tensor<1x2x32xf32>)
      plan.yield %r : tensor<1x32x2x16xf32>
    }
    plan.launch attention ins(%y, %rng : memref<1x32x2x16xf32>, memref<3xi64>) outs(%z : memref<1x32x2x16xf32>) {
    ^bb0(%a: tensor<1x32x2x16xf32>, %b: tensor<3xi64>):
      %r, %l = hone.attention %a, %a, %a rng %b scale 0.25 dropout 0.1 salt 8
          : (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<3xi64>)
          -> (tensor<1x32x2x16xf32>, tensor<1x2x32xf32>)
      plan.yield %r : tensor<1x32x2x16xf32>
    }
  }
}

// -----

// Another probability is another body.

// CHECK-COUNT-2: func.func private @k{{[01]}}_attention_body
plan.program @probabilities arena 4194304 {
  plan.function @step {
    %x = plan.buffer at 0 : memref<1x32x2x16xf32>
    %rng = plan.buffer at 16384 : memref<3xi64>
    %y = plan.buffer at 32768 : memref<1x32x2x16xf32>
    %z = plan.buffer at 65536 : memref<1x32x2x16xf32>
    plan.launch attention ins(%x, %rng : memref<1x32x2x16xf32>, memref<3xi64>) outs(%y : memref<1x32x2x16xf32>) {
    ^bb0(%a: tensor<1x32x2x16xf32>, %b: tensor<3xi64>):
      %r, %l = hone.attention %a, %a, %a rng %b scale 0.25 dropout 0.1 salt 7
          : (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<3xi64>)
          -> (tensor<1x32x2x16xf32>, tensor<1x2x32xf32>)
      plan.yield %r : tensor<1x32x2x16xf32>
    }
    plan.launch attention ins(%y, %rng : memref<1x32x2x16xf32>, memref<3xi64>) outs(%z : memref<1x32x2x16xf32>) {
    ^bb0(%a: tensor<1x32x2x16xf32>, %b: tensor<3xi64>):
      %r, %l = hone.attention %a, %a, %a rng %b scale 0.25 dropout 0.2 salt 7
          : (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<3xi64>)
          -> (tensor<1x32x2x16xf32>, tensor<1x2x32xf32>)
      plan.yield %r : tensor<1x32x2x16xf32>
    }
  }
}
