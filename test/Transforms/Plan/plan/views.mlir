// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// A reshape is the same bytes, and keeps them alive.

// CHECK: %[[A:.*]] = plan.buffer at 2048
// CHECK: plan.launch map {{.*}} outs(%[[A]] :
// CHECK: %[[V:.*]] = plan.view %[[A]] at 0 : memref<8x64xf32> to memref<16x32xf32>
// CHECK: %[[B:.*]] = plan.buffer at 4096
// CHECK: plan.launch map ins(%[[V]] : memref<16x32xf32>) outs(%[[B]] :
// CHECK: plan.launch map ins(%[[A]] :
func.func @evaluate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused map (%b0 = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.tanh %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %v = hone.reshape %a : tensor<8x64xf32> -> tensor<16x32xf32>
  %b = hone.fused map (%b0 = %v : tensor<16x32xf32>) -> tensor<16x32xf32> {
    %s = hone.exp %b0 : tensor<16x32xf32>
    hone.yield %s : tensor<16x32xf32>
  }
  %c = hone.fused map (%b0 = %a : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.neg %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %u = hone.reshape %b : tensor<16x32xf32> -> tensor<8x64xf32>
  %d = hone.fused map (%b0 = %c : tensor<8x64xf32>, %b1 = %u : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.mul %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %d : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
