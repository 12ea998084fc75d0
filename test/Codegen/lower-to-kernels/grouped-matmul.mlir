// RUN: hone-opt %s --split-input-file --hone-lower-to-kernels | FileCheck %s

// Products of groups: which product, types of operands, result and ends, sizes (groups, rows, n, k), offsets of both
// operands, ends and result.

// CHECK-LABEL: llvm.func @hone_program
// CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-DAG: %[[BF16:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[I32:.*]] = llvm.mlir.constant(5 : i64)
// CHECK-DAG: %[[GROUPS:.*]] = llvm.mlir.constant(3 : i64)
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(9 : i64)
// CHECK-DAG: %[[N:.*]] = llvm.mlir.constant(7 : i64)
// CHECK-DAG: %[[K:.*]] = llvm.mlir.constant(6 : i64)
// CHECK-DAG: %[[B:.*]] = llvm.mlir.constant(256 : i64)
// CHECK-DAG: %[[ENDS:.*]] = llvm.mlir.constant(1024 : i64)
// CHECK-DAG: %[[C:.*]] = llvm.mlir.constant(2048 : i64)
// CHECK: llvm.call @honert_grouped_matmul(%arg0, %{{.*}}, %{{.*}}, %[[ONE]], %[[BF16]], %[[BF16]], %[[I32]], %[[GROUPS]], %[[ROWS]], %[[N]], %[[K]], %[[ZERO]], %[[B]], %[[ENDS]], %[[C]])
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xbf16>
    %b = plan.buffer at 256 : memref<3x7x6xbf16>
    %e = plan.buffer at 1024 : memref<3xi32>
    %c = plan.buffer at 2048 : memref<9x7xbf16>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xbf16>, memref<3x7x6xbf16>, memref<3xi32>)
        outs(%c : memref<9x7xbf16>) {
    ^bb0(%x: tensor<9x6xbf16>, %w: tensor<3x7x6xbf16>, %ends: tensor<3xi32>):
      %y = hone.grouped_dot %x, %w, %ends contract 2
          : tensor<9x6xbf16>, tensor<3x7x6xbf16>, tensor<3xi32> -> tensor<9x7xbf16>
      plan.yield %y : tensor<9x7xbf16>
    }
  }
}

// -----

// The gradient of the matrices; ends of 64 bits.

// CHECK-LABEL: llvm.func @hone_program
// CHECK-DAG: %[[F32:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[WEIGHTS:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[I64:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-DAG: %[[GROUPS:.*]] = llvm.mlir.constant(3 : i64)
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(9 : i64)
// CHECK-DAG: %[[N:.*]] = llvm.mlir.constant(7 : i64)
// CHECK-DAG: %[[K:.*]] = llvm.mlir.constant(6 : i64)
// CHECK: llvm.call @honert_grouped_matmul(%arg0, %{{.*}}, %{{.*}}, %[[WEIGHTS]], %[[F32]], %[[F32]], %[[I64]], %[[GROUPS]], %[[ROWS]], %[[N]], %[[K]],
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xf32>
    %b = plan.buffer at 256 : memref<9x7xf32>
    %e = plan.buffer at 1024 : memref<3xi64>
    %c = plan.buffer at 2048 : memref<3x6x7xf32>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xf32>, memref<9x7xf32>, memref<3xi64>)
        outs(%c : memref<3x6x7xf32>) {
    ^bb0(%x: tensor<9x6xf32>, %g: tensor<9x7xf32>, %ends: tensor<3xi64>):
      %y = hone.grouped_dot_bwd_weight %x, %g, %ends
          : tensor<9x6xf32>, tensor<9x7xf32>, tensor<3xi64> -> tensor<3x6x7xf32>
      plan.yield %y : tensor<3x6x7xf32>
    }
  }
}

// -----

// No library multiplies f64: a kernel does.

// CHECK-LABEL: llvm.func @hone_program
// CHECK-NOT: honert_grouped_matmul
// CHECK: llvm.call @honert_launch(
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x6xf64>
    %b = plan.buffer at 512 : memref<3x6x7xf64>
    %e = plan.buffer at 2048 : memref<3xi32>
    %c = plan.buffer at 4096 : memref<9x7xf64>
    plan.launch grouped_contraction ins(%a, %b, %e : memref<9x6xf64>, memref<3x6x7xf64>, memref<3xi32>)
        outs(%c : memref<9x7xf64>) {
    ^bb0(%x: tensor<9x6xf64>, %w: tensor<3x6x7xf64>, %ends: tensor<3xi32>):
      %y = hone.grouped_dot %x, %w, %ends contract 1
          : tensor<9x6xf64>, tensor<3x6x7xf64>, tensor<3xi32> -> tensor<9x7xf64>
      plan.yield %y : tensor<9x7xf64>
    }
  }
}
