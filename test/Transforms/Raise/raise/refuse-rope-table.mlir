// RUN: hone-opt %s --hone-raise | FileCheck %s

// A table of full width whose halves are not known to be equal.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[C:[a-z0-9]+]]: tensor{{.*}}%[[S:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.rope
// CHECK: hone.concat

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %c: tensor<16x6xf32>,
    %s: tensor<16x6xf32>) -> tensor<2x4x16x6xf32> {
  %a = hone.slice %x [0, 0, 0, 0] to [2, 4, 16, 3] by [1, 1, 1, 1] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %b = hone.slice %x [0, 0, 0, 3] to [2, 4, 16, 6] by [1, 1, 1, 1] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %nb = hone.neg %b : tensor<2x4x16x3xf32>
  %rot = hone.concat %nb, %a dim 3 : (tensor<2x4x16x3xf32>, tensor<2x4x16x3xf32>) -> tensor<2x4x16x6xf32>
  %cb = hone.broadcast %c dims [2, 3] : tensor<16x6xf32> -> tensor<2x4x16x6xf32>
  %sb = hone.broadcast %s dims [2, 3] : tensor<16x6xf32> -> tensor<2x4x16x6xf32>
  %xc = hone.mul %x, %cb : tensor<2x4x16x6xf32>
  %rs = hone.mul %rot, %sb : tensor<2x4x16x6xf32>
  %y = hone.add %xc, %rs : tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
