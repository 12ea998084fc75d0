// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Batch and head as one dimension: one head each.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK: %[[Q4:.+]] = hone.reshape %[[Q]] : tensor<8x16x6xf32> -> tensor<8x16x1x6xf32>
// CHECK: %[[O:.+]], %{{.+}} = hone.attention %[[Q4]], %{{.+}}, %{{.+}} scale
// CHECK: hone.reshape %[[O]] : tensor<8x16x1x6xf32> -> tensor<8x16x6xf32>

func.func @forward(%q: tensor<8x16x6xf32>,
    %k: tensor<8x16x6xf32>,
    %v: tensor<8x16x6xf32>) -> tensor<8x16x6xf32> {
  %kt = hone.transpose %k [0, 2, 1] : tensor<8x16x6xf32> -> tensor<8x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0] x [0] contract [2] x [1] : tensor<8x16x6xf32>, tensor<8x6x16xf32> -> tensor<8x16x16xf32>
  %c = hone.constant dense<0.5> : tensor<8x16x16xf32>
  %s = hone.mul %dots, %c : tensor<8x16x16xf32>
  %w = hone.softmax %s : tensor<8x16x16xf32>
  %y = hone.dot_general %w, %v batch [0] x [0] contract [2] x [1] : tensor<8x16x16xf32>, tensor<8x16x6xf32> -> tensor<8x16x6xf32>
  return %y : tensor<8x16x6xf32>
}
