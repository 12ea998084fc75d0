// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// What the runtime reads is the argument before the step.

// CHECK: %[[W:.*]] = plan.buffer at 0
// CHECK: %[[NEW:.*]] = plan.buffer at {{4096|6144}}
// CHECK: plan.launch map
// CHECK: %[[OLD:.*]] = plan.buffer at {{4096|6144}}
// CHECK: plan.launch data_movement ins(%[[W]] : {{.*}}) outs(%[[OLD]] :
// CHECK: plan.launch data_movement ins(%[[NEW]] : {{.*}}) outs(%[[W]] :
// CHECK: plan.result "grad.w", %[[OLD]]
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"},
    %g: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "g"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64},
        tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "w"}) {
  %r = hone.fused map (%b0 = %w : tensor<8x64xf32>, %b1 = %g : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.sub %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return %r, %w : tensor<8x64xf32>, tensor<8x64xf32>
}
