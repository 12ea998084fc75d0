// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Batched, the right side transposed, with bias and addend: sizes b m n k, strides of a (b m k), b (b k n), c and addend
// (b m n), offsets of a, b, c, bias and addend.

// CHECK: constant @[[STRIDES:[a-z0-9_]+]](dense<[15, 5, 1, 35, 1, 5, 21, 7, 1, 21, 7, 1]> : tensor<12xi64>)
// CHECK: llvm.func @hone_program
// CHECK-DAG: %[[A:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[BATCH:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[M:.*]] = llvm.mlir.constant(3 : i64)
// CHECK-DAG: %[[N:.*]] = llvm.mlir.constant(7 : i64)
// CHECK-DAG: %[[K:.*]] = llvm.mlir.constant(5 : i64)
// CHECK-DAG: %[[AT:.*]] = llvm.mlir.addressof @[[STRIDES]]
// CHECK-DAG: %[[B:.*]] = llvm.mlir.constant(256 : i64)
// CHECK-DAG: %[[C:.*]] = llvm.mlir.constant(4096 : i64)
// CHECK-DAG: %[[BIAS:.*]] = llvm.mlir.constant(2048 : i64)
// CHECK-DAG: %[[ADDEND:.*]] = llvm.mlir.constant(1024 : i64)
// CHECK: llvm.call @honert_matmul(%arg0, %{{.*}}, %{{.*}}, %[[A]], %[[A]], %[[BATCH]], %[[M]], %[[N]], %[[K]], %[[AT]], %[[A]], %[[B]], %[[C]], %[[BIAS]], %[[ADDEND]])
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<2x3x5xf32>
    %b = plan.buffer at 256 : memref<2x7x5xf32>
    %h = plan.buffer at 1024 : memref<2x3x7xf32>
    %v = plan.buffer at 2048 : memref<7xf32>
    %c = plan.buffer at 4096 : memref<2x3x7xf32>
    plan.launch contraction ins(%a, %b, %v, %h
        : memref<2x3x5xf32>, memref<2x7x5xf32>, memref<7xf32>, memref<2x3x7xf32>) outs(%c : memref<2x3x7xf32>) {
    ^bb0(%x: tensor<2x3x5xf32>, %y: tensor<2x7x5xf32>, %z: tensor<7xf32>, %w: tensor<2x3x7xf32>):
      %p = hone.dot_general %x, %y batch [0] x [0] contract [2] x [2]
          : tensor<2x3x5xf32>, tensor<2x7x5xf32> -> tensor<2x3x7xf32>
      %q = hone.broadcast %z dims [2] : tensor<7xf32> -> tensor<2x3x7xf32>
      %r = hone.add %p, %q : tensor<2x3x7xf32>
      %s = hone.add %r, %w : tensor<2x3x7xf32>
      plan.yield %s : tensor<2x3x7xf32>
    }
  }
}
