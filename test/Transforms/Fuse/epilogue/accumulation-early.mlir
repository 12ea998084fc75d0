// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The sum with the gradient of earlier micro-batches stands at the end of the function, but runs with the product: its
// operands live no longer than that.
// CHECK-LABEL: func.func @accumulate
// CHECK: hone.fused contraction ({{.*}} = %arg2 : tensor<32x64xf32>)
// CHECK: hone.fused map
// CHECK-NEXT: hone.tanh
// CHECK-NOT: hone.fused
func.func @accumulate(%dy: tensor<8x32xf32>, %x: tensor<8x64xf32>, %g: tensor<32x64xf32>, %z: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<32x64xf32>) {
  %d = hone.dot_general %dy, %x batch [] x [] contract [0] x [0]
      : tensor<8x32xf32>, tensor<8x64xf32> -> tensor<32x64xf32>
  %t = hone.tanh %z : tensor<8x8xf32>
  %y = hone.add %g, %d : tensor<32x64xf32>
  return %t, %y : tensor<8x8xf32>, tensor<32x64xf32>
}
