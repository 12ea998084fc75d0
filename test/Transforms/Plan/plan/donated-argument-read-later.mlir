// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// A later launch reads the old value: the new one is copied at the end.

// CHECK: %[[W:.*]] = plan.buffer at 0
// CHECK: %[[NEW:.*]] = plan.buffer at 4096
// CHECK: plan.launch map ins(%[[W]], {{.*}}) outs(%[[NEW]] :
// CHECK: plan.launch map ins(%[[W]],
// CHECK: plan.launch row
// CHECK: plan.launch data_movement ins(%[[NEW]] : {{.*}}) outs(%[[W]] :
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"},
    %g: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "g"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<f32> {hone.kind = "loss"}) {
  %r = hone.fused map (%b0 = %w : tensor<8x64xf32>, %b1 = %g : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.sub %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %u = hone.fused map (%b0 = %w : tensor<8x64xf32>, %b1 = %g : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.mul %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %u : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %r, %l : tensor<8x64xf32>, tensor<f32>
}
