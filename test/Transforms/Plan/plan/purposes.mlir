// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// What a buffer is for: %a is made on the way to the loss and read after it, %t is only read on the way; %d is neither,
// and lies where %a lay; what the norm reads is a gradient, also as another shape.

// CHECK: arena 36928 categories {gradients = 16384 : i64, inputs = 2048 : i64, parameters = 16384 : i64, temporaries = 2112 : i64}
// CHECK-LABEL: plan.function @step
// CHECK:      plan.buffer at 0 : memref<8x64xf32>{{$}}
// CHECK:      %[[A:.*]] = plan.buffer at [[PLACE:[0-9]+]] : memref<8x64xf32> for activations
// CHECK:      plan.launch contraction {{.*}} outs(%[[A]] :
// CHECK:      %[[T:.*]] = plan.buffer at {{[0-9]+}} : memref<8x64xf32> for temporaries
// CHECK:      plan.launch map {{.*}} outs(%[[T]] :
// CHECK:      %[[L:.*]] = plan.buffer at {{[0-9]+}} : memref<f32> for temporaries
// CHECK:      plan.launch row {{.*}} outs(%[[L]] :
// CHECK:      %[[D:.*]] = plan.buffer at [[PLACE]] : memref<8x64xf32> for temporaries
// CHECK:      plan.launch map {{.*}} outs(%[[D]] :
// CHECK:      %[[G:.*]] = plan.buffer at {{[0-9]+}} : memref<64x64xf32> for gradients
// CHECK:      plan.launch contraction {{.*}} outs(%[[G]] :
func.func @step(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w"})
        -> (tensor<f32> {hone.kind = "loss"}, tensor<f32> {hone.kind = "grad_norm"}) {
  %a = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<8x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %t = hone.fused map (%b0 = %a : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.tanh %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %t : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  %d = hone.fused map (%b0 = %a : tensor<8x64xf32>) -> tensor<8x64xf32> {
    %s = hone.neg %b0 : tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %g = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %d : tensor<8x64xf32>) -> tensor<64x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0]
        : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    hone.yield %s : tensor<64x64xf32>
  }
  %flat = hone.reshape %g : tensor<64x64xf32> -> tensor<4096xf32>
  %n = hone.fused multi_tensor (%b0 = %flat : tensor<4096xf32>) -> tensor<f32> {
    %s = hone.global_norm %b0 : (tensor<4096xf32>) -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %l, %n : tensor<f32>, tensor<f32>
}
