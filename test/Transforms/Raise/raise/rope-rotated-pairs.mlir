// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// x * cos + stack(-b, a) * sin of every other element, tables that repeat each angle twice in a row.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor{{.*}}%[[COS:[a-z0-9]+]]: tensor{{.*}}%[[SIN:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.concat
// CHECK: hone.rope interleaved %{{.+}}, %[[COS]], %[[SIN]]

func.func @forward(%x: tensor<2x4x16x6xf32>,
    %cos: tensor<16x3xf32>,
    %sin: tensor<16x3xf32>) -> tensor<2x4x16x6xf32> {
  %cp = hone.broadcast %cos dims [0, 1] : tensor<16x3xf32> -> tensor<16x3x2xf32>
  %c = hone.reshape %cp : tensor<16x3x2xf32> -> tensor<16x6xf32>
  %sp = hone.broadcast %sin dims [0, 1] : tensor<16x3xf32> -> tensor<16x3x2xf32>
  %s = hone.reshape %sp : tensor<16x3x2xf32> -> tensor<16x6xf32>
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
