// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x64xf32>, %w: tensor<192x64xf32>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [2] x [1] : tensor<2x16x64xf32>,
  // CHECK-SAME: tensor<192x64xf32> -> tensor<2x16x192xf32>
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
      : tensor<2x16x64xf32>, tensor<192x64xf32> -> tensor<2x16x192xf32>
  return
}

// CHECK-LABEL: @batched
func.func @batched(%x: tensor<2x3x8x4xbf16>, %y: tensor<2x5x3x4xbf16>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x3x8x4xbf16>,
  // CHECK-SAME: tensor<2x5x3x4xbf16> -> tensor<2x3x8x5xf32>
  %z = hone.dot_general %x, %y batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x3x8x4xbf16>,
      tensor<2x5x3x4xbf16> -> tensor<2x3x8x5xf32>
  return
}

// CHECK-LABEL: @outer_product
func.func @outer_product(%x: tensor<3xf32>, %y: tensor<5xf32>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [] x [] : tensor<3xf32>, tensor<5xf32>
  // CHECK-SAME: -> tensor<3x5xf32>
  %z = hone.dot_general %x, %y batch [] x [] contract [] x [] : tensor<3xf32>, tensor<5xf32> -> tensor<3x5xf32>
  return
}
