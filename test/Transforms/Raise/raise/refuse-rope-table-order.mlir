// RUN: hone-opt %s --hone-raise | FileCheck %s

// Pairs rotated by tables whose halves repeat: the angles belong to other elements.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.rope
// CHECK: hone.concat

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %c = hone.concat %cos, %cos dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %s = hone.concat %sin, %sin dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %a = hone.slice %x [0, 0, 0, 0] to [2, 4, 16, 6] by [1, 1, 1, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %b = hone.slice %x [0, 0, 0, 1] to [2, 4, 16, 6] by [1, 1, 1, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %nb = hone.neg %b : tensor<2x4x16x3xf32>
  %nb1 = hone.reshape %nb : tensor<2x4x16x3xf32> -> tensor<2x4x16x3x1xf32>
  %a1 = hone.reshape %a : tensor<2x4x16x3xf32> -> tensor<2x4x16x3x1xf32>
  %st = hone.concat %nb1, %a1 dim 4 : (tensor<2x4x16x3x1xf32>, tensor<2x4x16x3x1xf32>) -> tensor<2x4x16x3x2xf32>
  %rot = hone.reshape %st : tensor<2x4x16x3x2xf32> -> tensor<2x4x16x6xf32>
  %cb = hone.broadcast %c dims [2, 3] : tensor<16x6xf32> -> tensor<2x4x16x6xf32>
  %sb = hone.broadcast %s dims [2, 3] : tensor<16x6xf32> -> tensor<2x4x16x6xf32>
  %xc = hone.mul %x, %cb : tensor<2x4x16x6xf32>
  %rs = hone.mul %rot, %sb : tensor<2x4x16x6xf32>
  %y = hone.add %xc, %rs : tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
