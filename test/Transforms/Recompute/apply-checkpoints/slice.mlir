// RUN: hone-opt %s --hone-apply-checkpoints --hone-verify-groups | FileCheck %s

// One kernel adds and normalises. The sum is kept, the rest made again from it: the clone does not add.
// CHECK-LABEL: func.func @step
// CHECK: %[[ONE:.*]]:3 = hone.fused row
// CHECK: hone.fused map (%{{.*}} = %[[ONE]]#2
// CHECK: %[[AGAIN:.*]] = hone.fused row (%{{[^,]*}} = %[[ONE]]#0 : tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NOT: hone.add
// CHECK: hone.reduce
// CHECK: hone.broadcast
// CHECK: hone.sub
// CHECK: hone.yield
// CHECK: hone.fused map (%{{.*}} = %[[AGAIN]]
func.func @step(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %d: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) attributes {hone.schedule = "f0 b0"} {
  %s:3 = hone.fused row (%a = %x : tensor<4x8xf32>, %b = %y : tensor<4x8xf32>)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>)
      attributes {hone.forward = array<i64: 0, 0, 0>, hone.recompute = array<i64: 1, 2>} {
    %0 = hone.add %a, %b : tensor<4x8xf32>
    %1 = hone.reduce sum %0 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = hone.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
    %3 = hone.sub %0, %2 : tensor<4x8xf32>
    hone.yield %0, %1, %3 : tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>
  }
  %t = hone.fused map (%a = %s#2 : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {hone.forward = array<i64: 0>} {
    %0 = hone.tanh %a : tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  %g = hone.fused map (%a = %s#2 : tensor<4x8xf32>, %b = %d : tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {hone.backward = 0} {
    %0 = hone.mul %a, %b : tensor<4x8xf32>
    hone.yield %0 : tensor<4x8xf32>
  }
  return %s#0, %t, %g : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
