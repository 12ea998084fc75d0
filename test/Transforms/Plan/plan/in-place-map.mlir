// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// exp writes over tanh, which dies there. The argument before it stays.

// CHECK: %[[A:.*]] = plan.buffer at 2048
// CHECK: plan.launch map {{.*}} outs(%[[A]] :
// CHECK: %[[B:.*]] = plan.buffer at 2048
// CHECK: plan.launch map ins(%[[A]] : {{.*}}) outs(%[[B]] :
func.func @evaluate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused map (%b0 = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.tanh %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %b = hone.fused map (%b0 = %a : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.exp %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %b : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
