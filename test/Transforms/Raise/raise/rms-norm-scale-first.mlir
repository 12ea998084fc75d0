// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// scale * x / sqrt(mean(x^2) + eps): the scale before the quotient.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[G:[a-z0-9]+]]: tensor
// CHECK: %[[Y:.+]], %{{.+}} = hone.rms_norm %[[X]] scale %[[G]] eps
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<4x8xf32>,
    %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %gb = hone.broadcast %g dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %gx = hone.mul %gb, %x : tensor<4x8xf32>
  %sq = hone.mul %x, %x : tensor<4x8xf32>
  %sum = hone.reduce sum %sq dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %kept = hone.reshape %sum : tensor<4xf32> -> tensor<4x1xf32>
  %n = hone.constant dense<8.0> : tensor<4x1xf32>
  %mean = hone.div %kept, %n : tensor<4x1xf32>
  %eps = hone.constant dense<1.0e-05> : tensor<4x1xf32>
  %var = hone.add %mean, %eps : tensor<4x1xf32>
  %std = hone.sqrt %var : tensor<4x1xf32>
  %sb_r = hone.reshape %std : tensor<4x1xf32> -> tensor<4xf32>
  %sb = hone.broadcast %sb_r dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = hone.div %gx, %sb : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
