// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Attention writes its gradients into the parts of the whole.

// CHECK: %[[ALL:.*]] = plan.buffer at 4608 : memref<3072xf32>
// CHECK: %[[Q:.*]] = plan.view %[[ALL]] at 0 : memref<3072xf32> to memref<2x16x4x8xf32, strided<[1536, 96, 8, 1]>>
// CHECK: %[[K:.*]] = plan.view %[[ALL]] at 128
// CHECK: %[[V:.*]] = plan.view %[[ALL]] at 256
// CHECK: plan.launch attention {{.*}} outs(%[[Q]], %[[K]], %[[V]] :
// CHECK: %[[C:.*]] = plan.view %[[ALL]] at 0 : memref<3072xf32> to memref<2x16x96xf32>
// CHECK: plan.result "grad.x", %[[C]]
func.func @step(%x: tensor<2x16x4x8xf32> {hone.kind = "input", hone.fqn = "x"},
    %l: tensor<2x4x16xf32> {hone.kind = "input", hone.fqn = "l"})
        -> (tensor<2x16x96xf32> {hone.kind = "grad", hone.fqn = "x"}) {
  %d:3 = hone.fused attention (%a = %x : tensor<2x16x4x8xf32>,
      %b = %l : tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) {
    %q, %k, %v = hone.attention_bwd %a, %a, %a, %a, %a, %b scale 0.35 : (tensor<2x16x4x8xf32>,
        tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>,
        tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
    hone.yield %q, %k, %v : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>
  }
  %p0 = hone.reshape %d#0 : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %p1 = hone.reshape %d#1 : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %p2 = hone.reshape %d#2 : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %c = hone.concat %p0, %p1, %p2 dim 2
      : (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>) -> tensor<2x16x96xf32>
  return %c : tensor<2x16x96xf32>
}
