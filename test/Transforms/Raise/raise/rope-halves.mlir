// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// concat(a c - b s, b c + a s) of the halves.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.concat
// CHECK: %[[T:.+]] = hone.transpose %[[X]] [0, 2, 1, 3]
// CHECK: hone.rope half %[[T]], %[[COS]], %[[SIN]]

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %cb = hone.broadcast %cos dims [2, 3] : tensor<16x3xf32> -> tensor<2x4x16x3xf32>
  %sb = hone.broadcast %sin dims [2, 3] : tensor<16x3xf32> -> tensor<2x4x16x3xf32>
  %a = hone.slice %x [0, 0, 0, 0] to [2, 4, 16, 3] by [1, 1, 1, 1] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %b = hone.slice %x [0, 0, 0, 3] to [2, 4, 16, 6] by [1, 1, 1, 1] : tensor<2x4x16x6xf32> -> tensor<2x4x16x3xf32>
  %ac = hone.mul %a, %cb : tensor<2x4x16x3xf32>
  %bs = hone.mul %b, %sb : tensor<2x4x16x3xf32>
  %bc = hone.mul %b, %cb : tensor<2x4x16x3xf32>
  %as = hone.mul %a, %sb : tensor<2x4x16x3xf32>
  %u = hone.sub %ac, %bs : tensor<2x4x16x3xf32>
  %v = hone.add %bc, %as : tensor<2x4x16x3xf32>
  %y = hone.concat %u, %v dim 3 : (tensor<2x4x16x3xf32>, tensor<2x4x16x3xf32>) -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
