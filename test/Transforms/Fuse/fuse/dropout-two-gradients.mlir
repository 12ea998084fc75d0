// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// The residual stream takes the gradient as it is, the branch below the masked one, the bias before it its sum: one kernel
// makes all three and no mask is stored.
// CHECK-LABEL: func.func @two_gradients
// CHECK: hone.fused row {{.*}} -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>)
// CHECK:   hone.dropout
// CHECK:   hone.reduce sum {{.*}} dims [0]
// CHECK-NOT: hone.fused
func.func @two_gradients(%dy: tensor<8x64xf32>, %h: tensor<8x64xf32>, %rstd: tensor<8xf32>, %gamma: tensor<64xf32>,
    %res: tensor<8x64xf32>, %k: tensor<3xi64>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) {
  %gb = hone.broadcast %gamma dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %gh = hone.mul %dy, %gb : tensor<8x64xf32>
  %s1 = hone.reduce sum %gh dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p1 = hone.mul %gh, %h : tensor<8x64xf32>
  %s2 = hone.reduce sum %p1 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %b1 = hone.broadcast %s1 dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %b2 = hone.broadcast %s2 dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %e1 = hone.sub %gh, %b1 : tensor<8x64xf32>
  %e2 = hone.mul %h, %b2 : tensor<8x64xf32>
  %e3 = hone.sub %e1, %e2 : tensor<8x64xf32>
  %rb = hone.broadcast %rstd dims [0] : tensor<8xf32> -> tensor<8x64xf32>
  %e4 = hone.mul %e3, %rb : tensor<8x64xf32>
  %dx = hone.add %e4, %res : tensor<8x64xf32>
  %masked = hone.dropout %dx, %k p 0.125 salt 3 : tensor<8x64xf32>, tensor<3xi64>
  %dbias = hone.reduce sum %masked dims [0] : tensor<8x64xf32> -> tensor<64xf32>
  return %dx, %masked, %dbias : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>
}
