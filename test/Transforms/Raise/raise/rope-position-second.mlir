// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// In [batch, position, head, width] no transpose is needed.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK: %[[R:.+]] = hone.rope half %[[X]], %[[COS]], %[[SIN]]
// CHECK-NEXT: return %[[R]]

func.func @forward(%x: tensor<2x16x4x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x16x4x6xf32> {
  %c = hone.concat %cos, %cos dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %s = hone.concat %sin, %sin dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %a = hone.slice %x [0, 0, 0, 0] to [2, 16, 4, 3] by [1, 1, 1, 1] : tensor<2x16x4x6xf32> -> tensor<2x16x4x3xf32>
  %b = hone.slice %x [0, 0, 0, 3] to [2, 16, 4, 6] by [1, 1, 1, 1] : tensor<2x16x4x6xf32> -> tensor<2x16x4x3xf32>
  %nb = hone.neg %b : tensor<2x16x4x3xf32>
  %rot = hone.concat %nb, %a dim 3 : (tensor<2x16x4x3xf32>, tensor<2x16x4x3xf32>) -> tensor<2x16x4x6xf32>
  %cb = hone.broadcast %c dims [1, 3] : tensor<16x6xf32> -> tensor<2x16x4x6xf32>
  %sb = hone.broadcast %s dims [1, 3] : tensor<16x6xf32> -> tensor<2x16x4x6xf32>
  %xc = hone.mul %x, %cb : tensor<2x16x4x6xf32>
  %rs = hone.mul %rot, %sb : tensor<2x16x4x6xf32>
  %y = hone.add %rs, %xc : tensor<2x16x4x6xf32>
  return %y : tensor<2x16x4x6xf32>
}
