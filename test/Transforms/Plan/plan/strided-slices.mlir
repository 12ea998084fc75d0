// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The parts of a packed projection are views of it.

// CHECK: %[[X:.*]] = plan.buffer at 0
// CHECK: plan.view %[[X]] at 0 : {{.*}} to memref<2x16x32xf32, strided<[1536, 96, 1]>>
// CHECK: plan.view %[[X]] at 128 :
// CHECK: %[[K:.*]] = plan.view {{.*}} to memref<2x16x4x8xf32, strided<[1536, 96, 8, 1]>>
// CHECK: plan.view %[[X]] at 256 :
// CHECK: plan.launch attention ins({{.*}}, %[[K]], {{.*}} :
func.func @step(%x: tensor<2x16x96xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<2x16x4x8xf32> {hone.kind = "grad", hone.fqn = "o"},
        tensor<2x4x16xf32> {hone.kind = "grad", hone.fqn = "l"}) {
  %s0 = hone.slice %x [0, 0, 0] to [2, 16, 32] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %h0 = hone.reshape %s0 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %s1 = hone.slice %x [0, 0, 32] to [2, 16, 64] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %h1 = hone.reshape %s1 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %s2 = hone.slice %x [0, 0, 64] to [2, 16, 96] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %h2 = hone.reshape %s2 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %o:2 = hone.fused attention (%q = %h0 : tensor<2x16x4x8xf32>, %k = %h1 : tensor<2x16x4x8xf32>,
      %v = %h2 : tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
    %r, %e = hone.attention %q, %k, %v scale 0.35 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
        tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
    hone.yield %r, %e : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
  }
  return %o#0, %o#1 : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
}
