// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The gradient lies in one place for both functions.

// CHECK: plan.program @program arena 6144 categories {gradients = 2048 : i64, inputs = 2048 : i64, parameters = 2048 : i64}
// CHECK: plan.argument "w" kind "param" at 0
// CHECK: plan.argument "x" kind "input" at 2048
// CHECK: plan.argument "w" kind "grad" at 4096
// CHECK: plan.function @accumulate
// CHECK: %[[G:.*]] = plan.buffer at 4096
// CHECK: %[[SUM:.*]] = plan.buffer at 4096
// CHECK: plan.launch map ins(%[[G]], {{.*}}) outs(%[[SUM]] :
// CHECK: plan.function @update
// CHECK: %[[W:.*]] = plan.buffer at 0
// CHECK: %[[G:.*]] = plan.buffer at 4096
// CHECK: plan.launch map ins(%[[W]], %[[G]] :
func.func @accumulate(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"},
    %x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
        %g: tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "w"})
            -> (tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "w", hone.donates = 2 : i64}) {
  %r = hone.fused map (%b0 = %g : tensor<8x64xf32>, %b1 = %x : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.add %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
func.func @update(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"},
    %g: tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "w"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
  %r = hone.fused map (%b0 = %w : tensor<8x64xf32>, %b1 = %g : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.sub %b0, %b1 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
