// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Pairs as a dimension of size 2.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.concat
// CHECK: hone.rope interleaved %{{.+}}, %[[COS]], %[[SIN]]

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %cb = hone.broadcast %cos dims [2, 3] : tensor<16x3xf32> -> tensor<2x4x16x3xf32>
  %sb = hone.broadcast %sin dims [2, 3] : tensor<16x3xf32> -> tensor<2x4x16x3xf32>
  %xp = hone.reshape %x : tensor<2x4x16x6xf32> -> tensor<2x4x16x3x2xf32>
  %a1 = hone.slice %xp [0, 0, 0, 0, 0] to [2, 4, 16, 3, 1] by [1, 1, 1, 1, 1] : tensor<2x4x16x3x2xf32> -> tensor<2x4x16x3x1xf32>
  %b1 = hone.slice %xp [0, 0, 0, 0, 1] to [2, 4, 16, 3, 2] by [1, 1, 1, 1, 1] : tensor<2x4x16x3x2xf32> -> tensor<2x4x16x3x1xf32>
  %a = hone.reshape %a1 : tensor<2x4x16x3x1xf32> -> tensor<2x4x16x3xf32>
  %b = hone.reshape %b1 : tensor<2x4x16x3x1xf32> -> tensor<2x4x16x3xf32>
  %ac = hone.mul %a, %cb : tensor<2x4x16x3xf32>
  %bs = hone.mul %b, %sb : tensor<2x4x16x3xf32>
  %bc = hone.mul %b, %cb : tensor<2x4x16x3xf32>
  %as = hone.mul %a, %sb : tensor<2x4x16x3xf32>
  %u = hone.sub %ac, %bs : tensor<2x4x16x3xf32>
  %v = hone.add %bc, %as : tensor<2x4x16x3xf32>
  %u1 = hone.reshape %u : tensor<2x4x16x3xf32> -> tensor<2x4x16x3x1xf32>
  %v1 = hone.reshape %v : tensor<2x4x16x3xf32> -> tensor<2x4x16x3x1xf32>
  %st = hone.concat %u1, %v1 dim 4 : (tensor<2x4x16x3x1xf32>, tensor<2x4x16x3x1xf32>) -> tensor<2x4x16x3x2xf32>
  %y = hone.reshape %st : tensor<2x4x16x3x2xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
