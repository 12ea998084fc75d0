// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK: %[[A:.*]] = plan.buffer at 2048
// CHECK: %[[B:.*]] = plan.buffer at 4096
// CHECK: plan.launch map ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK: %[[C:.*]] = plan.buffer at 2048
// CHECK: plan.launch map ins(%[[A]], %[[B]] : {{.*}}) outs(%[[C]] :
func.func @evaluate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused map (%b0 = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.tanh %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %b = hone.fused map (%b0 = %a : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.exp %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %c = hone.fused map (%b0 = %a : tensor<8x64xf32>, %b1 = %b : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.mul %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %c : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
