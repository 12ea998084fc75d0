// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK: plan.function @step
// CHECK-NOT: plan.launch
func.func @step(%w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"})
    -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 0 : i64}) {
  return %w : tensor<8x64xf32>
}
