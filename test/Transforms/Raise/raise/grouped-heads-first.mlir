// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// The repetition in [batch, head, position, width], before the transpose.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.broadcast
// CHECK: %[[KT:.+]] = hone.transpose %[[K]] [0, 2, 1, 3] : tensor<2x2x16x6xf32>
// CHECK: hone.attention %[[Q]], %[[KT]], %{{.+}} causal

func.func @forward(%q: tensor<2x16x4x6xf32>,
    %k: tensor<2x2x16x6xf32>,
    %v: tensor<2x2x16x6xf32>) -> tensor<2x16x4x6xf32> {
  %k5 = hone.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x16x6xf32> -> tensor<2x2x2x16x6xf32>
  %k4 = hone.reshape %k5 : tensor<2x2x2x16x6xf32> -> tensor<2x4x16x6xf32>
  %kp = hone.transpose %k4 [0, 2, 1, 3] : tensor<2x4x16x6xf32> -> tensor<2x16x4x6xf32>
  %v5 = hone.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x16x6xf32> -> tensor<2x2x2x16x6xf32>
  %v4 = hone.reshape %v5 : tensor<2x2x2x16x6xf32> -> tensor<2x4x16x6xf32>
  %vp = hone.transpose %v4 [0, 2, 1, 3] : tensor<2x4x16x6xf32> -> tensor<2x16x4x6xf32>
  %y, %l = hone.attention %q, %kp, %vp causal scale 0.5 : (tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %y : tensor<2x16x4x6xf32>
}
