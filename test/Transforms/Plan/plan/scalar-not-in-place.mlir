// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Every thread reads the scalar, and one of them writes its successor.

// CHECK: %[[A:.*]] = plan.buffer at 4160 : memref<f32>
// CHECK: plan.launch map {{.*}} outs(%[[A]] :
// CHECK: %[[E:.*]] = plan.buffer at 4224 : memref<f32>
// CHECK: plan.launch row ins({{.*}}, %[[A]] : {{.*}}) outs(%[[E]],
func.func @evaluate(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %z: tensor<f32> {hone.kind = "input", hone.fqn = "s"}) -> (tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused map (%b0 = %z : tensor<f32>) -> tensor<f32> {
    %s = hone.tanh %b0 : tensor<f32>
    hone.yield %s : tensor<f32>
  }
  %b:2 = hone.fused row (%b0 = %x : tensor<8x64xf32>, %b1 = %a : tensor<f32>) -> (tensor<f32>, tensor<8x64xf32>) {
    %e = hone.exp %b1 : tensor<f32>
    %v = hone.broadcast %e dims [] : tensor<f32> -> tensor<8x64xf32>
    %r = hone.mul %b0, %v : tensor<8x64xf32>
    hone.yield %e, %r : tensor<f32>, tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %b#1 : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  %m = hone.fused map (%b0 = %l : tensor<f32>, %b1 = %b#0 : tensor<f32>) -> tensor<f32> {
    %s = hone.mul %b0, %b1 : tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %m : tensor<f32>
}
