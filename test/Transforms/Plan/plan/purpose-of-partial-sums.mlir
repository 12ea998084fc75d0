// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// A sum that a gradient is added onto is a part of it; a factor of it is not.

// CHECK:      %[[P:.*]] = plan.buffer at {{[0-9]+}} : memref<64x32xf32> for gradients
// CHECK:      plan.launch contraction {{.*}} outs(%[[P]] :
// CHECK:      %[[Y:.*]] = plan.buffer at {{[0-9]+}} : memref<8x32xf32> for temporaries
// CHECK:      plan.launch map {{.*}} outs(%[[Y]] :
// CHECK:      %[[G:.*]] = plan.buffer at {{[0-9]+}} : memref<64x32xf32> for gradients
// CHECK:      plan.launch contraction {{.*}} outs(%[[G]] :
func.func @step(%x: tensor<8x64xf32> {hone.kind = "input", hone.fqn = "x"},
    %y: tensor<8x32xf32> {hone.kind = "input", hone.fqn = "y"})
        -> (tensor<64x32xf32> {hone.kind = "grad", hone.fqn = "w"}) {
  %p = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %y : tensor<8x32xf32>) -> tensor<64x32xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0]
        : tensor<8x64xf32>, tensor<8x32xf32> -> tensor<64x32xf32>
    hone.yield %s : tensor<64x32xf32>
  }
  %n = hone.fused map (%b0 = %y : tensor<8x32xf32>) -> tensor<8x32xf32> {
    %s = hone.tanh %b0 : tensor<8x32xf32>
    hone.yield %s : tensor<8x32xf32>
  }
  %g = hone.fused contraction (%b0 = %x : tensor<8x64xf32>, %b1 = %n : tensor<8x32xf32>, %b2 = %p : tensor<64x32xf32>)
      -> tensor<64x32xf32> {
    %s = hone.dot_general %b0, %b1 batch [] x [] contract [0] x [0]
        : tensor<8x64xf32>, tensor<8x32xf32> -> tensor<64x32xf32>
    %t = hone.add %b2, %s : tensor<64x32xf32>
    hone.yield %t : tensor<64x32xf32>
  }
  return %g : tensor<64x32xf32>
}
