// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// One of the arguments takes it in place, the other a copy.

// CHECK: %[[V:.*]] = plan.buffer at 0
// CHECK: %[[W:.*]] = plan.buffer at 2048
// CHECK: %[[NEW:.*]] = plan.buffer at 0
// CHECK: plan.launch map ins(%[[V]], %[[W]] : {{.*}}) outs(%[[NEW]] :
// CHECK: plan.launch data_movement ins(%[[NEW]] : {{.*}}) outs(%[[W]] :
func.func @step(%v: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "v"},
    %w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 0 : i64},
        tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 1 : i64}) {
  %r = hone.fused map (%b0 = %v : tensor<8x64xf32>, %b1 = %w : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.sub %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return %r, %r : tensor<8x64xf32>, tensor<8x64xf32>
}
