// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Tables of full width computed from angles whose halves repeat: computed from half the angles.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[ANGLE:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.concat
// CHECK: %[[C:.+]] = hone.cos %[[ANGLE]] : tensor<16x3xf32>
// CHECK: %[[S:.+]] = hone.sin %[[ANGLE]] : tensor<16x3xf32>
// CHECK: hone.rope half %{{.+}}, %[[C]], %[[S]]

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %angle: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %an = hone.concat %angle, %angle dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %c = hone.cos %an : tensor<16x6xf32>
  %s = hone.sin %an : tensor<16x6xf32>
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
