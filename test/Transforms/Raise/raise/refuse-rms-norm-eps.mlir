// RUN: hone-opt %s --hone-raise | FileCheck %s

// x / (sqrt(mean(x^2)) + eps) adds epsilon outside the root: another number.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.rms_norm
// CHECK: hone.sqrt

func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sq = hone.mul %x, %x : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %kept = hone.reshape %sum : tensor<4xf32> -> tensor<4x1xf32>
  %n = hone.constant dense<8.0> : tensor<4x1xf32>
  %mean = hone.div %kept, %n : tensor<4x1xf32>
  %std = hone.sqrt %mean : tensor<4x1xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4x1xf32>
  %var = hone.add %std, %eps : tensor<4x1xf32>
  %sb_r = hone.reshape %var : tensor<4x1xf32> -> tensor<4xf32>
  %sb = hone.broadcast %sb_r dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = hone.div %x, %sb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
