// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// The unscaled norm is read again: scaling it in the op would lose it.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[G:[a-z0-9]+]]: tensor
// CHECK: %[[H:.+]], %{{.+}} = hone.rms_norm %[[X]] eps
// CHECK: hone.mul %[[H]]

func.func @forward(%x: tensor<4x8xf32>,
    %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %sq = hone.mul %x, %x : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %kept = hone.reshape %sum : tensor<4xf32> -> tensor<4x1xf32>
  %n = hone.constant dense<8.0> : tensor<4x1xf32>
  %mean = hone.div %kept, %n : tensor<4x1xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4x1xf32>
  %var = hone.add %mean, %eps : tensor<4x1xf32>
  %rstd = hone.rsqrt %var : tensor<4x1xf32>
  %rb_r = hone.reshape %rstd : tensor<4x1xf32> -> tensor<4xf32>
  %rb = hone.broadcast %rb_r dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %h = hone.mul %x, %rb : tensor<4x8xf32>
  %gb = hone.broadcast %g dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = hone.mul %h, %gb : tensor<4x8xf32>
  %y = hone.add %s, %h : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
