// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Codes f8E4M3FN (8) by f8E5M2 (9) to bf16 (2). Scales per 128 of a row (4) go with those of blocks (5).

// CHECK-DAG: %[[F32:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[FAST:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-DAG: %[[BF16:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[E4M3:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: llvm.call @honert_matmul(%arg0, %{{.*}}, %{{.*}}, %[[E4M3]], %[[BF16]], %{{.*}})
// CHECK-NEXT: %[[E5M2:.*]] = llvm.mlir.constant(9 : i64)
// CHECK-NEXT: %[[ROWS:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-NEXT: %[[LHS:.*]] = llvm.mlir.constant(4096 : i64)
// CHECK-NEXT: %[[BLOCKS:.*]] = llvm.mlir.constant(5 : i64)
// CHECK-NEXT: %[[RHS:.*]] = llvm.mlir.constant(12288 : i64)
// CHECK-NEXT: llvm.call @honert_matmul_scales(%arg0, %[[E5M2]], %[[ROWS]], %[[LHS]], %[[BLOCKS]], %[[RHS]], %[[F32]])

// MX (2), with fast accumulation.
// CHECK: llvm.call @honert_matmul(%arg0, %{{.*}}, %{{.*}}, %[[E4M3]], %[[F32]], %{{.*}})
// CHECK-NEXT: %[[LHS:.*]] = llvm.mlir.constant(24576 : i64)
// CHECK-NEXT: %[[RHS:.*]] = llvm.mlir.constant(28672 : i64)
// CHECK-NEXT: llvm.call @honert_matmul_scales(%arg0, %[[E4M3]], %[[BF16]], %[[LHS]], %[[BF16]], %[[RHS]], %[[FAST]])
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<16x160xf8E4M3FN>
    %sa = plan.buffer at 4096 : memref<2x16xf32>
    %b = plan.buffer at 8192 : memref<8x160xf8E5M2>
    %sb = plan.buffer at 12288 : memref<1x4xf32>
    %c = plan.buffer at 16384 : memref<16x8xbf16>
    plan.launch contraction ins(%a, %b, %sa, %sb : memref<16x160xf8E4M3FN>, memref<8x160xf8E5M2>, memref<2x16xf32>, memref<1x4xf32>) outs(%c : memref<16x8xbf16>) {
    ^bb0(%x: tensor<16x160xf8E4M3FN>, %y: tensor<8x160xf8E5M2>, %s: tensor<2x16xf32>, %t: tensor<1x4xf32>):
      %p = hone.dot_general %x, %y scales %s, %t tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1] : tensor<16x160xf8E4M3FN>, tensor<8x160xf8E5M2> scales tensor<2x16xf32>, tensor<1x4xf32> -> tensor<16x8xbf16>
      plan.yield %p : tensor<16x8xbf16>
    }
    %d = plan.buffer at 20480 : memref<8x160xf8E4M3FN>
    %m = plan.buffer at 24576 : memref<1024xi8>
    %n = plan.buffer at 28672 : memref<1024xi8>
    %f = plan.buffer at 32768 : memref<16x8xf32>
    plan.launch contraction ins(%a, %d, %m, %n : memref<16x160xf8E4M3FN>, memref<8x160xf8E4M3FN>, memref<1024xi8>, memref<1024xi8>) outs(%f : memref<16x8xf32>) {
    ^bb0(%x: tensor<16x160xf8E4M3FN>, %y: tensor<8x160xf8E4M3FN>, %s: tensor<1024xi8>, %t: tensor<1024xi8>):
      %p = hone.dot_general %x, %y scales %s, %t tiles [1, 32] x [1, 32] batch [] x [] contract [1] x [1] fast : tensor<16x160xf8E4M3FN>, tensor<8x160xf8E4M3FN> scales tensor<1024xi8>, tensor<1024xi8> -> tensor<16x8xf32>
      plan.yield %p : tensor<16x8xf32>
    }
  }
}
