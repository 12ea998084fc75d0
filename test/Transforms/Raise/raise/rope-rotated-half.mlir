// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// x * cos + concat(-b, a) * sin in [batch, head, position, width]: transposed to the op's layout and back.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK: %[[T:.+]] = hone.transpose %[[X]] [0, 2, 1, 3]
// CHECK-NEXT: %[[R:.+]] = hone.rope half %[[T]], %[[COS]], %[[SIN]]
// CHECK-NEXT: %[[Y:.+]] = hone.transpose %[[R]] [0, 2, 1, 3]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %c = hone.concat %cos, %cos dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
  %s = hone.concat %sin, %sin dim 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
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
