// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Operands in [batch, position, head, width], as einsum leaves them: no transpose of them.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK-NOT: hone.transpose
// CHECK: %[[O:.+]], %{{.+}} = hone.attention %[[Q]], %[[K]], %[[V]] scale
// CHECK-NEXT: return %[[O]]

func.func @forward(%q: tensor<2x16x4x6xf32>,
    %k: tensor<2x16x4x6xf32>,
    %v: tensor<2x16x4x6xf32>) -> tensor<2x16x4x6xf32> {
  %dots = hone.dot_general %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %w = hone.softmax %s : tensor<2x4x16x16xf32>
  %o = hone.dot_general %w, %v batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x16x16xf32>, tensor<2x16x4x6xf32> -> tensor<2x4x16x6xf32>
  %y = hone.transpose %o [0, 2, 1, 3] : tensor<2x4x16x6xf32> -> tensor<2x16x4x6xf32>
  return %y : tensor<2x16x4x6xf32>
}
