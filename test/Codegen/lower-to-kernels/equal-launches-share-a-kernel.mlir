// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Names and places do not matter; the order of launches stays.

// CHECK-DAG: constant @[[FIRST:[a-z0-9_]+]](dense<[0, 256]> : tensor<2xi64>)
// CHECK-DAG: constant @[[SECOND:[a-z0-9_]+]](dense<[256, 512]> : tensor<2xi64>)
// CHECK-DAG: constant @[[IN_PLACE:[a-z0-9_]+]](dense<512> : tensor<2xi64>)
// CHECK-DAG: constant @[[LAST:[a-z0-9_]+]](dense<[512, 256]> : tensor<2xi64>)

// CHECK: llvm.func @hone_program
// CHECK: %[[TANH:.*]] = llvm.mlir.addressof @k0_map_entry
// CHECK: %[[AT:.*]] = llvm.mlir.addressof @[[FIRST]]
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[TANH]], %{{.*}}, %{{.*}}, %{{.*}}, %[[AT]])
// CHECK: %[[AT:.*]] = llvm.mlir.addressof @[[SECOND]]
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[TANH]], %{{.*}}, %{{.*}}, %{{.*}}, %[[AT]])
// CHECK: %[[OVER:.*]] = llvm.mlir.addressof @k1_map_entry
// CHECK: %[[AT:.*]] = llvm.mlir.addressof @[[IN_PLACE]]
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[OVER]], %{{.*}}, %{{.*}}, %{{.*}}, %[[AT]])
// CHECK: %[[EXP:.*]] = llvm.mlir.addressof @k2_map_entry
// CHECK: %[[AT:.*]] = llvm.mlir.addressof @[[LAST]]
// CHECK: llvm.call @honert_launch(%arg0, %{{.*}}, %{{.*}}, %[[EXP]], %{{.*}}, %{{.*}}, %{{.*}}, %[[AT]])
// CHECK-NOT: llvm.call @honert_launch(
// CHECK: llvm.return
plan.program @p arena 4096 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %a = plan.buffer at 256 : memref<64xf32>
    %b = plan.buffer at 512 : memref<64xf32>
    plan.launch map ins(%w : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>):
      %r = hone.tanh %x : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%a : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.tanh %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%b : memref<64xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.tanh %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%b : memref<64xf32>) outs(%a : memref<64xf32>) {
    ^bb0(%y: tensor<64xf32>):
      %r = hone.exp %y : tensor<64xf32>
      plan.yield %r : tensor<64xf32>
    }
  }
}
