// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x64xf32>) {
  // CHECK: hone.transpose %{{.+}} [0, 2, 1] : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
  %y = hone.transpose %x [0, 2, 1] : tensor<2x16x64xf32> -> tensor<2x64x16xf32>
  return
}

// CHECK-LABEL: @scalar
func.func @scalar(%x: tensor<f32>) {
  // CHECK: hone.transpose %{{.+}} [] : tensor<f32> -> tensor<f32>
  %y = hone.transpose %x [] : tensor<f32> -> tensor<f32>
  return
}
