// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Every row reads the vector along columns, and each writes an element of that along rows.

// CHECK: %[[A:.*]] = plan.buffer at 16640 : memref<64xf32>
// CHECK: plan.launch map {{.*}} outs(%[[A]] :
// CHECK: %[[S:.*]] = plan.buffer at 16896 : memref<64xf32>
// CHECK: plan.launch row ins({{.*}}, %[[A]] : {{.*}}) outs(%[[S]] :
func.func @evaluate(%x: tensor<64x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %z: tensor<64xf32> {hone.kind = "input", hone.fqn = "s"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused map (%b0 = %z : tensor<64xf32>) -> tensor<64xf32> {
    %s = hone.tanh %b0 : tensor<64xf32>
    hone.yield %s : tensor<64xf32>
  }
  %b = hone.fused row (%b0 = %x : tensor<64x64xf32>, %b1 = %a : tensor<64xf32>) -> tensor<64xf32> {
    %e = hone.exp %b1 : tensor<64xf32>
    %v = hone.broadcast %e dims [1] : tensor<64xf32> -> tensor<64x64xf32>
    %r = hone.mul %b0, %v : tensor<64x64xf32>
    %s = hone.reduce sum %r dims [1] : tensor<64x64xf32> -> tensor<64xf32>
    hone.yield %s : tensor<64xf32>
  }
  %l = hone.fused row (%b0 = %b : tensor<64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0] : tensor<64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}
