// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s

// The operands of a concatenation lie in it. So a copy needs operands of its own, also of a group that is in no stage
// (zeros, made once) and is not recomputed elsewhere.
// CHECK-LABEL: func.func @step
// CHECK: %[[ZEROS:.*]] = hone.fused map
// CHECK: %[[PART:.*]] = hone.fused map (%{{.*}} = %arg0
// CHECK: %[[ALL:.*]] = hone.concat %[[ZEROS]], %[[PART]]
// CHECK: hone.fused row (%{{.*}} = %[[ALL]]
// CHECK: %[[ZEROS2:.*]] = hone.fused map {{.*}} attributes {hone.clone
// CHECK: %[[PART2:.*]] = hone.fused map {{.*}} attributes {hone.clone
// CHECK: %[[ALL2:.*]] = hone.concat %[[ZEROS2]], %[[PART2]]
// CHECK: hone.fused map (%{{.*}} = %[[ALL2]]
func.func @step(%x: tensor<4x8xf32>) -> (tensor<f32>, tensor<6x8xf32>) attributes {hone.schedule = "f0 b0"} {
  %zeros = hone.fused map () -> tensor<2x8xf32> {
    %1 = hone.constant dense<0.0> : tensor<2x8xf32>
    hone.yield %1 : tensor<2x8xf32>
  }
  %part = hone.fused map (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.forward = array<i64: 0>, hone.recompute = array<i64: 0>} {
    %1 = hone.exp %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %all = hone.concat %zeros, %part dim 0 {hone.forward = array<i64: 0>, hone.recompute = array<i64: 0>}
      : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %sum = hone.fused row (%0 = %all : tensor<6x8xf32>) -> tensor<f32> attributes {hone.forward = array<i64: 0>} {
    %1 = hone.reduce sum %0 dims [0, 1] : tensor<6x8xf32> -> tensor<f32>
    hone.yield %1 : tensor<f32>
  }
  %g = hone.fused map (%0 = %all : tensor<6x8xf32>) -> tensor<6x8xf32> attributes {hone.backward = 0} {
    %1 = hone.neg %0 : tensor<6x8xf32>
    hone.yield %1 : tensor<6x8xf32>
  }
  return %sum, %g : tensor<f32>, tensor<6x8xf32>
}
