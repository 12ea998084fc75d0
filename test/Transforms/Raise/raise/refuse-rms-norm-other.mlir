// RUN: hone-opt %s --hone-raise | FileCheck %s

// The statistics are those of another tensor.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[Z:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.rms_norm
// CHECK: hone.rsqrt

func.func @forward(%x: tensor<4x8xf32>,
    %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sq = hone.mul %z, %z : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %kept = hone.reshape %sum : tensor<4xf32> -> tensor<4x1xf32>
  %n = hone.constant dense<8.0> : tensor<4x1xf32>
  %mean = hone.div %kept, %n : tensor<4x1xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4x1xf32>
  %var = hone.add %mean, %eps : tensor<4x1xf32>
  %rstd = hone.rsqrt %var : tensor<4x1xf32>
  %rb_r = hone.reshape %rstd : tensor<4x1xf32> -> tensor<4xf32>
  %rb = hone.broadcast %rb_r dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = hone.mul %x, %rb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
