// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// Behaviour 25: the call that makes the gradient of a GELU in fp32 sums its columns. It overwrites the vector, so one
// launch adds all such vectors to the gradients of earlier micro-batches.

module attributes {hone.target = "cuda sm_90"} {
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[C:.*]]:2 = hone.fused contraction {{.*}} -> (tensor<8x32xf32>, tensor<32xf32>) {
// CHECK:   %[[P:.*]] = hone.dot_general
// CHECK:   %[[D:.*]] = hone.gelu_bwd tanh %[[P]]
// CHECK:   %[[S:.*]] = hone.reduce sum %[[D]] dims [0]
// CHECK:   hone.yield %[[D]], %[[S]]
// CHECK: %[[R:.*]]:2 = hone.fused contraction {{.*}} -> (tensor<16xf32>, tensor<16x8xf32>) {
// CHECK-DAG:   hone.reduce sum
// CHECK-DAG:   hone.dot_general
// CHECK:   hone.add {{.*}} : tensor<16x8xf32>
// CHECK: hone.fused multi_tensor
// CHECK-NEXT:   hone.add {{.*}} : tensor<32xf32>
// CHECK-NEXT:   hone.add {{.*}} : tensor<16xf32>
// CHECK-NEXT:   hone.yield
// CHECK-NOT: hone.fused
func.func @accumulate(%dy: tensor<8x64xf32>, %w: tensor<64x32xf32>, %u: tensor<8x32xf32>, %dz: tensor<8x16xbf16>,
    %x: tensor<8x8xbf16>, %g: tensor<32xf32>, %h: tensor<16xf32>, %k: tensor<16x8xf32>)
    -> (tensor<8x32xf32>, tensor<32xf32>, tensor<16xf32>, tensor<16x8xf32>) {
  %p = hone.dot_general %dy, %w batch [] x [] contract [1] x [0]
      : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  %du = hone.gelu_bwd tanh %p, %u : tensor<8x32xf32>
  %b = hone.reduce sum %du dims [0] : tensor<8x32xf32> -> tensor<32xf32>
  %zwide = hone.cast %dz : tensor<8x16xbf16> -> tensor<8x16xf32>
  %c = hone.reduce sum %zwide dims [0] : tensor<8x16xf32> -> tensor<16xf32>
  %d = hone.dot_general %dz, %x batch [] x [] contract [0] x [0]
      : tensor<8x16xbf16>, tensor<8x8xbf16> -> tensor<16x8xf32>
  %b1 = hone.add %g, %b : tensor<32xf32>
  %c1 = hone.add %h, %c : tensor<16xf32>
  %d1 = hone.add %k, %d : tensor<16x8xf32>
  return %du, %b1, %c1, %d1 : tensor<8x32xf32>, tensor<32xf32>, tensor<16xf32>, tensor<16x8xf32>
}
}
