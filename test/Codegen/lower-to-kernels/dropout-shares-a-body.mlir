// RUN: hone-opt %s --hone-lower-to-kernels | FileCheck %s

// Layers differ in the salts of their dropout, which the body of their kernel takes as arguments, the same salt once.
// Another probability is another body.

// CHECK:       func.func private @k0_map_body({{.*}} {llvm.noalias}, {{.*}}, %[[S:.*]]: i64, %{{.*}}: index, %{{.*}}: index)
// CHECK-NOT:     arith.constant 7 : i64
// CHECK:         vector.broadcast %[[S]] : i64
// CHECK-LABEL: func.func private @k0_map(
// CHECK:         %[[SALT:.*]] = arith.constant 7 : i64
// CHECK-NEXT:    call @k0_map_body({{.*}}, %[[SALT]], %{{.*}}, %{{.*}})
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @k1_map(
// CHECK:         %[[SALT:.*]] = arith.constant 8 : i64
// CHECK-NEXT:    call @k0_map_body({{.*}}, %[[SALT]], %{{.*}}, %{{.*}})
// CHECK-NEXT:    return
// CHECK:       func.func private @k2_map_body(
// CHECK-LABEL: func.func private @k2_map(
// CHECK:         call @k2_map_body(
plan.program @p arena 4096 {
  plan.argument "w" kind "param" at 0 : tensor<64xf32>
  plan.function @step {
    %w = plan.buffer at 0 : memref<64xf32>
    %rng = plan.buffer at 256 : memref<3xi64>
    %a = plan.buffer at 512 : memref<64xf32>
    %b = plan.buffer at 1024 : memref<64xf32>
    plan.launch map ins(%w, %rng : memref<64xf32>, memref<3xi64>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>, %key: tensor<3xi64>):
      %r = hone.dropout %x, %key p 0.5 salt 7 : tensor<64xf32>, tensor<3xi64>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%a, %rng : memref<64xf32>, memref<3xi64>) outs(%b : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>, %key: tensor<3xi64>):
      %r = hone.dropout %x, %key p 0.5 salt 8 : tensor<64xf32>, tensor<3xi64>
      plan.yield %r : tensor<64xf32>
    }
    plan.launch map ins(%b, %rng : memref<64xf32>, memref<3xi64>) outs(%a : memref<64xf32>) {
    ^bb0(%x: tensor<64xf32>, %key: tensor<3xi64>):
      %r = hone.dropout %x, %key p 0.25 salt 9 : tensor<64xf32>, tensor<3xi64>
      plan.yield %r : tensor<64xf32>
    }
  }
}
