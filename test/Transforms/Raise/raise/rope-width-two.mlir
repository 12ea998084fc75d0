// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// One pair per head: halves of size 1.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.concat
// CHECK: hone.rope half %[[X]], %[[COS]], %[[SIN]]

func.func @forward(%x: tensor<2x16x4x2xf32>,
    %cos: tensor<16x1xf32>,
    %sin: tensor<16x1xf32>) -> tensor<2x16x4x2xf32> {
  %c = hone.concat %cos, %cos dim 1 : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x2xf32>
  %s = hone.concat %sin, %sin dim 1 : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x2xf32>
  %a = hone.slice %x [0, 0, 0, 0] to [2, 16, 4, 1] by [1, 1, 1, 1] : tensor<2x16x4x2xf32> -> tensor<2x16x4x1xf32>
  %b = hone.slice %x [0, 0, 0, 1] to [2, 16, 4, 2] by [1, 1, 1, 1] : tensor<2x16x4x2xf32> -> tensor<2x16x4x1xf32>
  %nb = hone.neg %b : tensor<2x16x4x1xf32>
  %rot = hone.concat %nb, %a dim 3 : (tensor<2x16x4x1xf32>, tensor<2x16x4x1xf32>) -> tensor<2x16x4x2xf32>
  %cb = hone.broadcast %c dims [1, 3] : tensor<16x2xf32> -> tensor<2x16x4x2xf32>
  %sb = hone.broadcast %s dims [1, 3] : tensor<16x2xf32> -> tensor<2x16x4x2xf32>
  %xc = hone.mul %x, %cb : tensor<2x16x4x2xf32>
  %rs = hone.mul %rot, %sb : tensor<2x16x4x2xf32>
  %y = hone.add %xc, %rs : tensor<2x16x4x2xf32>
  return %y : tensor<2x16x4x2xf32>
}
