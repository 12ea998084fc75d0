// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Both products are added where the argument lies: the first sum is read by the second alone.

// CHECK: plan.argument "w" kind "grad" at [[AT:[0-9]+]]
// CHECK: %[[ACC:.*]] = plan.buffer at [[AT]]
// CHECK: %[[S:.*]] = plan.buffer at [[AT]]
// CHECK: plan.launch contraction ins(%{{.*}}, %[[ACC]] : {{.*}}) outs(%[[S]] :
// CHECK: %[[R:.*]] = plan.buffer at [[AT]]
// CHECK: plan.launch contraction ins(%{{.*}}, %[[S]] : {{.*}}) outs(%[[R]] :
// CHECK-NOT: plan.launch data_movement
func.func @accumulate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x64xf32> {hone.kind = "grad", hone.fqn = "w"})
    -> (tensor<64x64xf32> {hone.kind = "grad", hone.fqn = "w", hone.donates = 1 : i64}) {
  %s = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %p = hone.dot_general %b0, %b0 batch [] x [] contract [0] x [0]
        : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %a = hone.add %p, %b1 : tensor<64x64xf32>
    hone.yield %a : tensor<64x64xf32>
  }
  %r = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %s : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %p = hone.dot_general %b0, %b0 batch [] x [] contract [0] x [0]
        : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %a = hone.add %p, %b1 : tensor<64x64xf32>
    hone.yield %a : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
