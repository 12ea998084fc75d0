// A first copy of 2 MiB takes longer than one kernel in front: it begins before two, and not before three.
// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK: plan.launch map
// CHECK: hone.sqrt
// CHECK: plan.copy up %{{.*}} at 0 token 0 : memref<524288xf32>
// CHECK: plan.launch map
// CHECK: hone.tanh
// CHECK: plan.launch map
// CHECK: hone.exp
// CHECK: plan.wait 0
// CHECK: plan.launch map
// CHECK: hone.neg
func.func @step(%x: tensor<4000000xf32> {hone.kind = "input", hone.fqn = "x"},
                %m: tensor<524288xf32> {hone.kind = "opt", hone.fqn = "m", plan.host})
    -> (tensor<4000000xf32> {hone.kind = "loss"}, tensor<524288xf32> {hone.kind = "opt", hone.fqn = "m", hone.donates = 1 : i64}) {
  %p = hone.fused map (%a = %x : tensor<4000000xf32>) -> tensor<4000000xf32> {
    %r = hone.sqrt %a : tensor<4000000xf32>
    hone.yield %r : tensor<4000000xf32>
  }
  %0 = hone.fused map (%a = %p : tensor<4000000xf32>) -> tensor<4000000xf32> {
    %r = hone.tanh %a : tensor<4000000xf32>
    hone.yield %r : tensor<4000000xf32>
  }
  %1 = hone.fused map (%a = %0 : tensor<4000000xf32>) -> tensor<4000000xf32> {
    %r = hone.exp %a : tensor<4000000xf32>
    hone.yield %r : tensor<4000000xf32>
  }
  %2 = hone.fused map (%a = %m : tensor<524288xf32>) -> tensor<524288xf32> {
    %r = hone.neg %a : tensor<524288xf32>
    hone.yield %r : tensor<524288xf32>
  }
  return %1, %2 : tensor<4000000xf32>, tensor<524288xf32>
}
