// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Batch and head joined for a batched product come apart again.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.reshape
// CHECK: %[[QT:.+]] = hone.transpose %[[Q]] [0, 2, 1, 3]
// CHECK: %[[KT:.+]] = hone.transpose %[[K]] [0, 2, 1, 3]
// CHECK: %[[VT:.+]] = hone.transpose %[[V]] [0, 2, 1, 3]
// CHECK: %[[O:.+]], %{{.+}} = hone.attention %[[QT]], %[[KT]], %[[VT]] scale 5.000000e-01 :
// CHECK-NEXT: %[[Y:.+]] = hone.transpose %[[O]] [0, 2, 1, 3]
// CHECK-NEXT: return %[[Y]]

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>) -> tensor<2x4x16x6xf32> {
  %q3 = hone.reshape %q : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %k3 = hone.reshape %k : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %v3 = hone.reshape %v : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %kt = hone.transpose %k3 [0, 2, 1] : tensor<8x16x6xf32> -> tensor<8x6x16xf32>
  %dots = hone.dot_general %q3, %kt batch [0] x [0] contract [2] x [1] : tensor<8x16x6xf32>, tensor<8x6x16xf32> -> tensor<8x16x16xf32>
  %c = hone.constant dense<0.5> : tensor<8x16x16xf32>
  %s = hone.mul %dots, %c : tensor<8x16x16xf32>
  %w = hone.softmax %s : tensor<8x16x16xf32>
  %y3 = hone.dot_general %w, %v3 batch [0] x [0] contract [2] x [1] : tensor<8x16x16xf32>, tensor<8x16x6xf32> -> tensor<8x16x6xf32>
  %y = hone.reshape %y3 : tensor<8x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
