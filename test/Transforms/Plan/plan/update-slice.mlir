// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The new cache is written over the old one, a row of it; the other one is read later, so a launch copies it before.

// CHECK: %[[OLD:.*]] = plan.buffer at 64 : memref<16x4xf32>
// CHECK: %[[NEW:.*]] = plan.buffer at 64 : memref<16x4xf32>
// CHECK-NEXT: plan.launch line ins(%[[OLD]], {{.*}}) outs(%[[NEW]] :
// CHECK: %[[OTHER:.*]] = plan.buffer at 320 : memref<16x4xf32>
// CHECK: %[[COPY:.*]] = plan.buffer at 640 : memref<16x4xf32>
// CHECK-NEXT: plan.launch data_movement ins(%[[OTHER]] : {{.*}}) outs(%[[COPY]] :
// CHECK: plan.launch line ins(%[[COPY]], {{.*}}) outs(%[[COPY]] :
// CHECK: plan.launch row ins(%[[NEW]], %[[COPY]], %[[OTHER]] :
// CHECK-NOT: plan.launch
func.func @generate(%at: tensor<i64> {hone.kind = "scalar", hone.fqn = "position"},
    %cache: tensor<16x4xf32> {hone.kind = "cache", hone.fqn = "key.0"},
    %other: tensor<16x4xf32> {hone.kind = "buffer", hone.fqn = "other"},
    %row: tensor<1x4xf32> {hone.kind = "buffer", hone.fqn = "row"})
        -> (tensor<16x4xf32> {hone.kind = "cache", hone.fqn = "key.0", hone.donates = 1 : i64},
            tensor<f32> {hone.kind = "logits"}) {
  %new = hone.fused line (%b0 = %cache : tensor<16x4xf32>, %b1 = %row : tensor<1x4xf32>, %b2 = %at : tensor<i64>)
      -> tensor<16x4xf32> {
    %s = hone.update_slice %b0, %b1 at %b2 dim 0 : tensor<16x4xf32>, tensor<1x4xf32>
    hone.yield %s : tensor<16x4xf32>
  }
  %changed = hone.fused line (%b0 = %other : tensor<16x4xf32>, %b1 = %row : tensor<1x4xf32>, %b2 = %at : tensor<i64>)
      -> tensor<16x4xf32> {
    %s = hone.update_slice %b0, %b1 at %b2 dim 0 : tensor<16x4xf32>, tensor<1x4xf32>
    hone.yield %s : tensor<16x4xf32>
  }
  %l = hone.fused row (%b0 = %new : tensor<16x4xf32>, %b1 = %changed : tensor<16x4xf32>,
      %b2 = %other : tensor<16x4xf32>) -> tensor<f32> {
    %a = hone.add %b0, %b1 : tensor<16x4xf32>
    %b = hone.mul %a, %b2 : tensor<16x4xf32>
    %s = hone.reduce sum %b dims [0, 1] : tensor<16x4xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %new, %l : tensor<16x4xf32>, tensor<f32>
}
