// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --args 1 --rtol 1e-6

// The mask is added to [batch, head, query, key], between two reshapes.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor{{.*}}%[[K:[a-z0-9]+]]: tensor{{.*}}%[[V:[a-z0-9]+]]: tensor{{.*}}%[[M:[a-z0-9]+]]: tensor
// CHECK: %[[MASK:.+]] = hone.reshape %[[M]] : tensor<2x16x16xf32> -> tensor<2x1x16x16xf32>
// CHECK: hone.attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[MASK]] scale 5.000000e-01

func.func @forward(%q: tensor<2x4x16x6xf32>,
    %k: tensor<2x4x16x6xf32>,
    %v: tensor<2x4x16x6xf32>,
    %m: tensor<2x16x16xf32>) -> tensor<2x4x16x6xf32> {
  %q3 = hone.reshape %q : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %k3 = hone.reshape %k : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %v3 = hone.reshape %v : tensor<2x4x16x6xf32> -> tensor<8x16x6xf32>
  %kt = hone.transpose %k3 [0, 2, 1] : tensor<8x16x6xf32> -> tensor<8x6x16xf32>
  %dots = hone.dot_general %q3, %kt batch [0] x [0] contract [2] x [1] : tensor<8x16x6xf32>, tensor<8x6x16xf32> -> tensor<8x16x16xf32>
  %c = hone.constant dense<0.5> : tensor<8x16x16xf32>
  %s = hone.mul %dots, %c : tensor<8x16x16xf32>
  %s4 = hone.reshape %s : tensor<8x16x16xf32> -> tensor<2x4x16x16xf32>
  %mb = hone.broadcast %m dims [0, 2, 3] : tensor<2x16x16xf32> -> tensor<2x4x16x16xf32>
  %a4 = hone.add %s4, %mb : tensor<2x4x16x16xf32>
  %a = hone.reshape %a4 : tensor<2x4x16x16xf32> -> tensor<8x16x16xf32>
  %w = hone.softmax %a : tensor<8x16x16xf32>
  %y3 = hone.dot_general %w, %v3 batch [0] x [0] contract [2] x [1] : tensor<8x16x16xf32>, tensor<8x16x6xf32> -> tensor<8x16x6xf32>
  %y = hone.reshape %y3 : tensor<8x16x6xf32> -> tensor<2x4x16x6xf32>
  return %y : tensor<2x4x16x6xf32>
}
