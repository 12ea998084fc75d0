// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// The first product is a result: nothing is written over it.

// CHECK: %[[A:.*]] = plan.buffer at 18432
// CHECK: plan.launch contraction {{.*}} outs(%[[A]] :
// CHECK-NOT: plan.buffer at 18432
// CHECK: plan.result "grad.x", %[[A]]
// CHECK: plan.result "loss"
func.func @step(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %w: tensor<64x64xf32> {hone.kind = "param", hone.fqn = "w"})
        -> (tensor<8x64xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<f32> {hone.kind = "loss"}) {
  %a = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<8x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %b = hone.fused contraction (%b0 = %a : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<8x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %c = hone.fused contraction (%b0 = %b : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<8x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %d = hone.fused contraction (%b0 = %c : tensor<8x64xf32>, %b1 = %w : tensor<64x64xf32>) -> tensor<8x64xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [1] x [0]
        : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    hone.yield %s : tensor<8x64xf32>
  }
  %l = hone.fused row (%b0 = %d : tensor<8x64xf32>) -> tensor<f32> {
    %s = hone.reduce sum %b0 dims [0, 1] : tensor<8x64xf32> -> tensor<f32>
    hone.yield %s : tensor<f32>
  }
  return %a, %l : tensor<8x64xf32>, tensor<f32>
}
