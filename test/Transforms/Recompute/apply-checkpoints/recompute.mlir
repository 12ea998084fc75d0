// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s
// RUN: hone-opt %s --hone-apply-checkpoints --canonicalize --cse | FileCheck %s

// A result in hone.recompute is made again right before its first backward reader, and not merged with the original. What is
// not in there is kept.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[D:.*]]: tensor<4x8xf32>)
// CHECK-NOT: hone.schedule
// CHECK: %[[E:.*]] = hone.fused map (%{{.*}} = %[[X]]
// CHECK-NEXT: hone.exp
// CHECK: %[[P:.*]] = hone.fused contraction (%{{.*}} = %[[E]]
// CHECK-NEXT: hone.dot_general
// CHECK: %[[S:.*]] = hone.fused map (%{{.*}} = %[[P]]
// CHECK-NEXT: hone.tanh
// CHECK: hone.fused map (%{{.*}} = %[[S]] : tensor<4x8xf32>, %{{.*}} = %[[D]]
// CHECK-NEXT: hone.mul
// CHECK: %[[AGAIN:.*]] = hone.fused map (%{{.*}} = %[[X]]{{.*}} attributes {hone.clone = 0 : i64}
// CHECK-NEXT: hone.exp
// CHECK: hone.fused contraction (%{{.*}} = %[[AGAIN]]
// CHECK-NOT: hone.forward
func.func @step(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %d: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>)
    attributes {hone.schedule = "f0 b0"} {
  %e = hone.fused map (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>, hone.recompute = array<i64: 0>} {
    %0 = hone.exp %a : tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  %p = hone.fused contraction (%a = %e : tensor<4x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %0 = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  %s = hone.fused map (%a = %p : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %0 = hone.tanh %a : tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  %g = hone.fused map (%a = %s : tensor<4x8xf32>, %b = %d : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.backward = 0} {
    %0 = hone.mul %a, %b : tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  %gw = hone.fused contraction (%a = %e : tensor<4x8xf32>, %b = %g : tensor<4x8xf32>) -> tensor<8x8xf32> attributes {hone.backward = 0} {
    %0 = hone.dot_general %a, %b batch [] x [] contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    hone.yield %0 : tensor<8x8xf32>
  }
  return %gw, %s : tensor<8x8xf32>, tensor<4x8xf32>
}
