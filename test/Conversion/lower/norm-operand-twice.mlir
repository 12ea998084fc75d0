// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Two parameters with one gradient: the launch reads it once, the norm counts it twice. Offsets are those of a gradient
// and of its partial sum, then of all of those and of the norm.

// CHECK-DAG: constant @[[FIRST:[a-z0-9_]+]](dense<[0, 384]> : tensor<2xi64>)
// CHECK-DAG: constant @[[SECOND:[a-z0-9_]+]](dense<[256, 388]> : tensor<2xi64>)
// CHECK-DAG: constant @[[THIRD:[a-z0-9_]+]](dense<[0, 392]> : tensor<2xi64>)
// CHECK-DAG: constant @[[ALL:[a-z0-9_]+]](dense<[384, 320]> : tensor<2xi64>)
// CHECK: llvm.func @hone_program
// CHECK: llvm.mlir.addressof @[[FIRST]]
// CHECK: call @honert_launch
// CHECK: llvm.mlir.addressof @[[SECOND]]
// CHECK: call @honert_launch
// CHECK: llvm.mlir.addressof @[[THIRD]]
// CHECK: call @honert_launch
// CHECK: llvm.mlir.addressof @[[ALL]]
// CHECK: call @honert_launch
plan.program @p arena 1024 {
  plan.argument "a" kind "grad" at 0 : tensor<64xf32>
  plan.argument "b" kind "grad" at 256 : tensor<8xf32>
  plan.function @update {
    %a = plan.buffer at 0 : memref<64xf32>
    %b = plan.buffer at 256 : memref<8xf32>
    %n = plan.buffer at 320 : memref<f32>
    %s = plan.buffer at 384 : memref<3xf32>
    plan.launch multi ins(%a, %b : memref<64xf32>, memref<8xf32>) outs(%n : memref<f32>) scratch(%s : memref<3xf32>) {
    ^bb0(%x: tensor<64xf32>, %y: tensor<8xf32>):
      %r = hone.global_norm %x, %y, %x : (tensor<64xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<f32>
      plan.yield %r : tensor<f32>
    }
    plan.result "grad_norm", %n : memref<f32>
  }
}
