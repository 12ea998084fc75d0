// RUN: hone-opt %s --hone-raise | FileCheck %s

// A norm over the first dimension.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.rms_norm
// CHECK: hone.rsqrt

func.func @forward(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %sq = hone.mul %x, %x : tensor<8x8xf32>
  %sum = hone.reduce sum %sq dims [0] : tensor<8x8xf32> -> tensor<8xf32>
  %n = hone.constant dense<8.0> : tensor<8xf32>
  %mean = hone.div %sum, %n : tensor<8xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<8xf32>
  %var = hone.add %mean, %eps : tensor<8xf32>
  %rstd = hone.rsqrt %var : tensor<8xf32>
  %rb = hone.broadcast %rstd dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = hone.mul %x, %rb : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
