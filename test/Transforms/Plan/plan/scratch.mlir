// RUN: hone-opt %s --hone-plan-memory --hone-verify-plan | FileCheck %s

// Sums over rows take partial sums of 50 chunks of 2 rows each.

// CHECK: plan.launch row {{.*}} scratch({{.*}} : memref<50x64xf32>, memref<50xf32>)
func.func @evaluate(%x: tensor<100x64xf32> {hone.kind = "input", hone.fqn = "x"})
    -> (tensor<64xf32> {hone.kind = "grad", hone.fqn = "x"}, tensor<f32> {hone.kind = "loss"}) {
  %r:2 = hone.fused row (%b0 = %x : tensor<100x64xf32>) -> (tensor<64xf32>, tensor<f32>) {
    %c = hone.reduce sum %b0 dims [0] : tensor<100x64xf32> -> tensor<64xf32>
    %l = hone.reduce sum %b0 dims [0, 1] : tensor<100x64xf32> -> tensor<f32>
    hone.yield %c, %l : tensor<64xf32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<f32>
}
