// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Rows are read and written where they lie in the whole. A run of one matrix has the strides of a matrix of its own.

// CHECK:      %[[X:.*]] = plan.buffer at 0 : memref<2x8x4xf32>
// CHECK-NEXT: %[[A:.*]] = plan.view %[[X]] at 128 : memref<2x8x4xf32> to memref<1x3x4xf32>
// CHECK-NEXT: %[[ALL:.*]] = plan.buffer at 256 : memref<32xf32>
// CHECK-NEXT: %[[P:.*]] = plan.view %[[ALL]] at 0 : memref<32xf32> to memref<3x4xf32>
// CHECK-NEXT: plan.launch map ins(%[[A]] : {{.*}}) outs(%[[P]] :
// CHECK:      %[[B:.*]] = plan.view %[[X]] at 176 : memref<2x8x4xf32> to memref<1x5x4xf32>
// CHECK-NEXT: %[[Q:.*]] = plan.view %[[ALL]] at 48 : memref<32xf32> to memref<5x4xf32>
// CHECK-NEXT: plan.launch map ins(%[[B]] : {{.*}}) outs(%[[Q]] :
// CHECK:      %[[W:.*]] = plan.view %[[ALL]] at 0 : memref<32xf32> to memref<8x4xf32>
// CHECK-NEXT: plan.result "grad.x", %[[W]]
func.func @step(%x: tensor<2x8x4xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<8x4xf32> {hone.kind = "grad", hone.fqn = "x"}) {
  %a = hone.slice %x [1, 0, 0] to [2, 3, 4] by [1, 1, 1] : tensor<2x8x4xf32> -> tensor<1x3x4xf32>
  %p = hone.fused map (%b0 = %a : tensor<1x3x4xf32>) -> tensor<3x4xf32> {
    %t = hone.tanh %b0 : tensor<1x3x4xf32>
    %s = hone.reshape %t : tensor<1x3x4xf32> -> tensor<3x4xf32>
    hone.yield %s : tensor<3x4xf32>
  }
  %b = hone.slice %x [1, 3, 0] to [2, 8, 4] by [1, 1, 1] : tensor<2x8x4xf32> -> tensor<1x5x4xf32>
  %q = hone.fused map (%b0 = %b : tensor<1x5x4xf32>) -> tensor<5x4xf32> {
    %t = hone.tanh %b0 : tensor<1x5x4xf32>
    %s = hone.reshape %t : tensor<1x5x4xf32> -> tensor<5x4xf32>
    hone.yield %s : tensor<5x4xf32>
  }
  %r = hone.concat %p, %q dim 0 : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
