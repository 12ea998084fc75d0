// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s

// Stage 0 runs again for its backward visit, with what that reads alone: not the kernel that makes its output. The order is
// that of the visits, whatever it was; what is in no stage runs first, or last where it waits.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x8xf32>
// CHECK: hone.neg
// CHECK: %[[A:.*]] = hone.fused map (%{{.*}} = %[[X]]
// CHECK-NEXT: hone.exp
// CHECK: %[[B:.*]] = hone.fused map (%{{.*}} = %[[A]]
// CHECK-NEXT: hone.tanh
// CHECK: %[[C:.*]] = hone.fused map (%{{.*}} = %[[B]]
// CHECK-NEXT: hone.sin
// CHECK: %[[G1:.*]] = hone.fused map (%{{.*}} = %[[C]]
// CHECK-NEXT: hone.mul
// CHECK: %[[AGAIN:.*]] = hone.fused map (%{{.*}} = %[[X]]{{.*}} attributes {hone.clone
// CHECK-NEXT: hone.exp
// CHECK-NOT: hone.tanh
// CHECK: %[[G0:.*]] = hone.fused map (%{{.*}} = %[[AGAIN]] {{.*}}, %{{.*}} = %[[G1]]
// CHECK-NEXT: hone.add
// CHECK: hone.fused map (%{{.*}} = %[[G0]]
// CHECK-NEXT: hone.abs
func.func @step(%x: tensor<4x8xf32>, %m: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    attributes {hone.schedule = "f0:1 b1 f0 b0"} {
  %a = hone.fused map (%0 = %x : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %1 = hone.exp %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %k = hone.fused map (%0 = %m : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = hone.neg %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %b = hone.fused map (%0 = %a : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %1 = hone.tanh %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %c = hone.fused map (%0 = %b : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 1>} {
    %1 = hone.sin %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  %g1 = hone.fused map (%0 = %c : tensor<4x8xf32>, %1 = %k : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.backward = 1} {
    %2 = hone.mul %0, %1 : tensor<4x8xf32>
    hone.yield %2 : tensor<4x8xf32>
  }
  %g0 = hone.fused map (%0 = %a : tensor<4x8xf32>, %1 = %g1 : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.backward = 0} {
    %2 = hone.add %0, %1 : tensor<4x8xf32>
    hone.yield %2 : tensor<4x8xf32>
  }
  %u = hone.fused map (%0 = %g0 : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = hone.abs %0 : tensor<4x8xf32>
    hone.yield %1 : tensor<4x8xf32>
  }
  return %c, %u : tensor<4x8xf32>, tensor<4x8xf32>
}
