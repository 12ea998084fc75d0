// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// A vector that multiplies after the bias was added is no scale.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[G:[a-z0-9]+]]: tensor{{.*}}%[[B:[a-z0-9]+]]: tensor
// CHECK: %[[H:.+]], %{{.+}}, %{{.+}} = hone.layer_norm %[[X]] bias %[[B]] eps
// CHECK: hone.mul %[[H]]

func.func @forward(%x: tensor<4x8xf32>,
    %g: tensor<8xf32>,
    %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %xsum = hone.reduce sum %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
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
  %h = hone.mul %c, %rb : tensor<4x8xf32>
  %bb = hone.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = hone.add %h, %bb : tensor<4x8xf32>
  %gb = hone.broadcast %g dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %y = hone.mul %s, %gb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
