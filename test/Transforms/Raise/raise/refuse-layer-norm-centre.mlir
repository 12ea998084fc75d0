// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Centred around another tensor's mean: only the root mean square is named.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[Z:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.layer_norm
// CHECK: %[[C:.+]] = hone.sub
// CHECK: hone.rms_norm %[[C]]

func.func @forward(%x: tensor<4x8xf32>,
    %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %xsum = hone.reduce sum %z dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %m8 = hone.constant dense<8.0> : tensor<4xf32>
  %mu = hone.div %xsum, %m8 : tensor<4xf32>
  %mub = hone.broadcast %mu dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %c = hone.sub %x, %mub : tensor<4x8xf32>
  %sq = hone.mul %c, %c : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %kept = hone.reshape %sum : tensor<4xf32> -> tensor<4x1xf32>
  %n = hone.constant dense<8.0> : tensor<4x1xf32>
  %mean = hone.div %kept, %n : tensor<4x1xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4x1xf32>
  %var = hone.add %mean, %eps : tensor<4x1xf32>
  %rstd = hone.rsqrt %var : tensor<4x1xf32>
  %rb_r = hone.reshape %rstd : tensor<4x1xf32> -> tensor<4xf32>
  %rb = hone.broadcast %rb_r dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = hone.mul %c, %rb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
