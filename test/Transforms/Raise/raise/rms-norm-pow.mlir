// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// The square as a power, the mean as a product with 1/8, the factors the other way round.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]], %{{.+}} = hone.rms_norm %[[X]] eps
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = hone.constant dense<2.0> : tensor<4x8xf32>
  %sq = hone.pow %x, %two : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %n = hone.constant dense<0.125> : tensor<4xf32>
  %mean = hone.mul %n, %sum : tensor<4xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4xf32>
  %var = hone.add %eps, %mean : tensor<4xf32>
  %rstd = hone.rsqrt %var : tensor<4xf32>
  %rb = hone.broadcast %rstd dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = hone.mul %rb, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
