// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// A scale that is computed after the norm (1 + weight): the norm moves to the product.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[G:[a-z0-9]+]]: tensor
// CHECK: %[[G1:.+]] = hone.add %[[G]]
// CHECK: %[[Y:.+]], %{{.+}} = hone.rms_norm %[[X]] scale %[[G1]] eps
// CHECK-NEXT: return %[[Y]]

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
  %one = hone.constant dense<1.0> : tensor<8xf32>
  %g1 = hone.add %g, %one : tensor<8xf32>
  %gb = hone.broadcast %g1 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %y = hone.mul %h, %gb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
