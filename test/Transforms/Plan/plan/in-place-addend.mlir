// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The product is added onto its addend.

// CHECK: %[[H:.*]] = plan.buffer at 18432
// CHECK: plan.launch map {{.*}} outs(%[[H]] :
// CHECK: %[[R:.*]] = plan.buffer at 18432
// CHECK: plan.launch contraction ins({{.*}}, {{.*}}, %[[H]] : {{.*}}) outs(%[[R]] :
func.func @evaluate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %h = hone.fused map (%b0 = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.tanh %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %r = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>,
      %b2 = %h : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %p = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %s = hone.add %p, %b2 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %r : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
