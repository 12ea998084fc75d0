// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s

// Readers of parts of a value that is made again read parts of the clone; a part that the return names is the original's.
// CHECK-LABEL: func.func @step
// CHECK: %[[ALL:.*]] = hone.fused map
// CHECK: %[[AGAIN:.*]] = hone.fused map {{.*}} attributes {hone.clone
// CHECK: %[[PARTAGAIN:.*]] = hone.slice %[[AGAIN]]
// CHECK-NEXT: hone.fused map (%{{.*}} = %[[PARTAGAIN]]
// CHECK: %[[PART:.*]] = hone.slice %[[ALL]]
// CHECK: return %[[PART]]
func.func @step(%x: tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) attributes {hone.schedule = "f0 b0"} {
  %a = hone.fused map (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.forward = array<i64: 0>, hone.recompute = array<i64: 0>} {
    %1 = hone.exp %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %p = hone.slice %a [2, 0] to [4, 8] by [1, 1] : tensor<4x8xf32> -> tensor<2x8xf32>
  %g = hone.fused map (%0 = %p : tensor<2x8xf32>) -> tensor<2x8xf32> attributes {hone.backward = 0} {
    %1 = hone.neg %0 : tensor<2x8xf32>
    hone.yield %1 : tensor<2x8xf32>
  }
  return %p, %g : tensor<2x8xf32>, tensor<2x8xf32>
}
