// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The result is written where its argument lies: no memory but the state.

// CHECK: plan.program @program arena 4096
// CHECK: %[[W:.*]] = plan.buffer at 0
// CHECK: %[[NEW:.*]] = plan.buffer at 0
// CHECK: plan.launch map ins(%[[W]], {{.*}}) outs(%[[NEW]] :
// CHECK-NOT: plan.launch
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"},
    %g: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "g"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
  %r = hone.fused map (%b0 = %w : tensor<8x64xf32>, %b1 = %g : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.sub %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
