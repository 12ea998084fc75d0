// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Dropout of the weights becomes the op's, with the same key and salt.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor{{.*}}%[[KEY:[a-z0-9]+]]: tensor
// CHECK: %[[QT:.+]] = hone.transpose %[[Q]] [0, 2, 1, 3]
// CHECK: %[[KT:.+]] = hone.transpose %[[K]] [0, 2, 1, 3]
// CHECK: %[[VT:.+]] = hone.transpose %[[V]] [0, 2, 1, 3]
// CHECK: hone.attention %[[QT]], %[[KT]], %[[VT]] rng %[[KEY]] scale 5.000000e-01 dropout 2.500000e-01 salt 9

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>,
    %key: tensor<3xi64>) -> tensor<2x4x16x6xf32> {
  %kt = hone.transpose %k [0, 1, 3, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x6xf32>, tensor<2x4x6x16xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %p = hone.softmax %s : tensor<2x4x16x16xf32>
  %w = hone.dropout %p, %key p 0.25 salt 9 : tensor<2x4x16x16xf32>, tensor<3xi64>
  %y = hone.dot_general %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x16xf32>, tensor<2x4x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
