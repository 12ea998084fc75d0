// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Each argument is the other's new value: both are saved before one is overwritten.

// CHECK: %[[OLD_W:.*]] = plan.buffer at 4096
// CHECK: %[[W:.*]] = plan.buffer at 2048
// CHECK: plan.launch data_movement ins(%[[W]] : {{.*}}) outs(%[[OLD_W]] :
// CHECK: %[[OLD_V:.*]] = plan.buffer at 6144
// CHECK: %[[V:.*]] = plan.buffer at 0
// CHECK: plan.launch data_movement ins(%[[V]] : {{.*}}) outs(%[[OLD_V]] :
// CHECK: plan.launch data_movement ins(%[[OLD_W]] : {{.*}}) outs(%[[V]] :
// CHECK: plan.launch data_movement ins(%[[OLD_V]] : {{.*}}) outs(%[[W]] :
func.func @step(%v: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "v"},
    %w: tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w"})
        -> (tensor<8x64xf32> {hone.kind = "param", hone.fqn = "v", hone.donates = 0 : i64},
        tensor<8x64xf32> {hone.kind = "param", hone.fqn = "w", hone.donates = 1 : i64}) {
  return %w, %v : tensor<8x64xf32>, tensor<8x64xf32>
}
