// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// A mask per key and batch is repeated over the queries only.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor{{.*}}%[[M:[a-z0-9]+]]: tensor
// CHECK: %[[FULL:.+]] = hone.broadcast %[[M]] dims [0, 2] : tensor<2x16xf32> -> tensor<2x16x16xf32>
// CHECK: %[[MASK:.+]] = hone.reshape %[[FULL]] : tensor<2x16x16xf32> -> tensor<2x1x16x16xf32>
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[MASK]] scale

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>,
    %m: tensor<2x16xf32>) -> tensor<2x4x16x6xf32> {
  %kt = hone.transpose %k [0, 1, 3, 2] : tensor<2x4x16x6xf32> -> tensor<2x4x6x16xf32>
  %dots = hone.dot_general %q, %kt batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x6xf32>, tensor<2x4x6x16xf32> -> tensor<2x4x16x16xf32>
  %scale_s = hone.constant dense<0.5> : tensor<2x4x16x16xf32>
  %s = hone.mul %dots, %scale_s : tensor<2x4x16x16xf32>
  %mb = hone.broadcast %m dims [0, 3] : tensor<2x16xf32> -> tensor<2x4x16x16xf32>
  %a = hone.add %mb, %s : tensor<2x4x16x16xf32>
  %w = hone.softmax %a : tensor<2x4x16x16xf32>
  %y = hone.dot_general %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : tensor<2x4x16x16xf32>, tensor<2x4x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
