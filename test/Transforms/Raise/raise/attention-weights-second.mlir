// RUN: hone-opt %s --hone-raise | FileCheck %s
// RUN: hone-opt %s --hone-raise -o %t && hone-run --compare %s %t --entry forward --f64 --rtol 1e-6

// v softmax(q k^T), the order in which einsum may multiply: the result is [B, H, E, T].

// CHECK-LABEL: func.func @forward(
// CHECK: %[[Y:.+]], %{{.+}} = hone.attention
// CHECK-NOT: hone.softmax

func.func @forward(%q: tensor<2x8x3x5xf32>, %k: tensor<2x8x3x5xf32>,
    %v: tensor<2x8x3x5xf32>) -> tensor<2x3x5x8xf32> {
  %s = hone.dot_general %q, %k batch [0, 2] x [0, 2] contract [3] x [3]
      : tensor<2x8x3x5xf32>, tensor<2x8x3x5xf32> -> tensor<2x3x8x8xf32>
  %p = hone.softmax %s : tensor<2x3x8x8xf32>
  %y = hone.dot_general %v, %p batch [0, 2] x [0, 1] contract [1] x [3]
      : tensor<2x8x3x5xf32>, tensor<2x3x8x8xf32> -> tensor<2x3x5x8xf32>
  return %y : tensor<2x3x5x8xf32>
}
