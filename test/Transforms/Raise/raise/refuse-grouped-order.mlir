// RUN: hone-opt %s --hone-raise | FileCheck %s

// Heads tiled (0 1 0 1) instead of repeated (0 0 1 1) are other groups.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor
// CHECK: hone.broadcast
// CHECK: hone.attention %[[Q]], %{{.+}}, %{{.+}} causal scale {{.*}} : (tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>

func.func @forward(%q: tensor<2x16x4x6xf32>,
    %k: tensor<2x16x2x6xf32>,
    %v: tensor<2x16x2x6xf32>) -> tensor<2x16x4x6xf32> {
  %k5 = hone.broadcast %k dims [0, 1, 3, 4] : tensor<2x16x2x6xf32> -> tensor<2x16x2x2x6xf32>
  %k4 = hone.reshape %k5 : tensor<2x16x2x2x6xf32> -> tensor<2x16x4x6xf32>
  %v5 = hone.broadcast %v dims [0, 1, 3, 4] : tensor<2x16x2x6xf32> -> tensor<2x16x2x2x6xf32>
  %v4 = hone.reshape %v5 : tensor<2x16x2x2x6xf32> -> tensor<2x16x4x6xf32>
  %y, %l = hone.attention %q, %k4, %v4 causal scale 0.5 : (tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>, tensor<2x16x4x6xf32>) -> (tensor<2x16x4x6xf32>, tensor<2x4x16xf32>)
  return %y : tensor<2x16x4x6xf32>
}
