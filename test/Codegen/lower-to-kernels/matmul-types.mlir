// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Numbers of the operands' and the result's element type: bf16 (2) to f32 (0), and f16 (3) to itself with a bias of it.

// CHECK-DAG: %[[F32:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[BF16:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: llvm.call @honert_matmul(%arg0, %{{.*}}, %{{.*}}, %[[BF16]], %[[F32]], %{{.*}})
// CHECK: %[[F16:.*]] = llvm.mlir.constant(3 : i64)
// CHECK: llvm.call @honert_matmul(%arg0, %{{.*}}, %{{.*}}, %[[F16]], %[[F16]], %{{.*}})
plan.program @p arena 65536 {
  plan.function @step {
    %a = plan.buffer at 0 : memref<9x5xbf16>
    %b = plan.buffer at 256 : memref<5x7xbf16>
    %c = plan.buffer at 1024 : memref<9x7xf32>
    plan.launch contraction ins(%a, %b : memref<9x5xbf16>, memref<5x7xbf16>) outs(%c : memref<9x7xf32>) {
    ^bb0(%x: tensor<9x5xbf16>, %y: tensor<5x7xbf16>):
      %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<9x5xbf16>, tensor<5x7xbf16> -> tensor<9x7xf32>
      plan.yield %p : tensor<9x7xf32>
    }
    %d = plan.buffer at 2048 : memref<9x5xf16>
    %e = plan.buffer at 2304 : memref<5x7xf16>
    %v = plan.buffer at 2560 : memref<7xf16>
    %f = plan.buffer at 3072 : memref<9x7xf16>
    plan.launch contraction ins(%d, %e, %v : memref<9x5xf16>, memref<5x7xf16>, memref<7xf16>) outs(%f : memref<9x7xf16>) {
    ^bb0(%x: tensor<9x5xf16>, %y: tensor<5x7xf16>, %z: tensor<7xf16>):
      %p = hone.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<9x5xf16>, tensor<5x7xf16> -> tensor<9x7xf16>
      %q = hone.broadcast %z dims [1] : tensor<7xf16> -> tensor<9x7xf16>
      %r = hone.add %p, %q : tensor<9x7xf16>
      plan.yield %r : tensor<9x7xf16>
    }
  }
}
