// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// Batch and head as one dimension that nothing tells apart: one head each.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q3:[a-z0-9]+]]: tensor{{.*}}%[[K3:[a-z0-9]+]]: tensor{{.*}}%[[V3:[a-z0-9]+]]: tensor
// CHECK: %[[Q4:.+]] = hone.reshape %[[Q3]] : tensor<8x16x6xf32> -> tensor<8x16x1x6xf32>
// CHECK: %[[O:.+]], %{{.+}} = hone.attention %[[Q4]], %{{.+}}, %{{.+}} scale
// CHECK: hone.reshape %[[O]] : tensor<8x16x1x6xf32> -> tensor<8x16x6xf32>

func.func @forward(%q3: tensor<8x16x6xf32>,
    %k3: tensor<8x16x6xf32>,
    %v3: tensor<8x16x6xf32>) -> tensor<8x16x6xf32> {
  %kt = hone.transpose %k3 [0, 2, 1] : tensor<8x16x6xf32> -> tensor<8x6x16xf32>
  %dots = hone.dot_general %q3, %kt batch [0] x [0] contract [2] x [1] : tensor<8x16x6xf32>, tensor<8x6x16xf32> -> tensor<8x16x16xf32>
  %c = hone.constant dense<0.5> : tensor<8x16x16xf32>
  %s = hone.mul %dots, %c : tensor<8x16x16xf32>
  %w = hone.softmax %s : tensor<8x16x16xf32>
  %y3 = hone.dot_general %w, %v3 batch [0] x [0] contract [2] x [1] : tensor<8x16x16xf32>, tensor<8x16x6xf32> -> tensor<8x16x6xf32>
  return %y3 : tensor<8x16x6xf32>
}
