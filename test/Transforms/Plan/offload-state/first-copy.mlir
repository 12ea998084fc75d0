// The first copy begins before the kernel that hides it, and not before those in front: until it is used it takes memory.
// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// CHECK: plan.launch map
// CHECK: hone.tanh
// CHECK: plan.copy up %{{.*}} at 0 token 0 : memref<256xf32>
// CHECK: plan.launch map
// CHECK: hone.exp
// CHECK: plan.wait 0
// CHECK: plan.launch map
// CHECK: hone.neg
// CHECK: plan.copy down %{{.*}} at 0 token 1 : memref<256xf32>
// CHECK: plan.wait 1
func.func @step(%x: tensor<4000000xf32> {hone.kind = "input", hone.fqn = "x"},
                %m: tensor<256xf32> {hone.kind = "opt", hone.fqn = "m", plan.host})
    -> (tensor<4000000xf32> {hone.kind = "loss"}, tensor<256xf32> {hone.kind = "opt", hone.fqn = "m", hone.donates = 1 : i64}) {
  %0 = hone.fused map (%a = %x : tensor<4000000xf32>) -> tensor<4000000xf32> {
    %r = hone.tanh %a : tensor<4000000xf32>
    hone.yield %r : tensor<4000000xf32>
  }
  %1 = hone.fused map (%a = %0 : tensor<4000000xf32>) -> tensor<4000000xf32> {
    %r = hone.exp %a : tensor<4000000xf32>
    hone.yield %r : tensor<4000000xf32>
  }
  %2 = hone.fused map (%a = %m : tensor<256xf32>) -> tensor<256xf32> {
    %r = hone.neg %a : tensor<256xf32>
    hone.yield %r : tensor<256xf32>
  }
  return %1, %2 : tensor<4000000xf32>, tensor<256xf32>
}
