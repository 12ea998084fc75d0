// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%b: tensor<64xf32>) {
  // CHECK: hone.broadcast %{{.+}} dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  %y = hone.broadcast %b dims [1] : tensor<64xf32> -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar
func.func @scalar(%b: tensor<f32>) {
  // CHECK: hone.broadcast %{{.+}} dims [] : tensor<f32> -> tensor<8x64xf32>
  %y = hone.broadcast %b dims [] : tensor<f32> -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @inner
func.func @inner(%b: tensor<8x16xf32>) {
  // CHECK: hone.broadcast %{{.+}} dims [0, 2] : tensor<8x16xf32> -> tensor<8x4x16xf32>
  %y = hone.broadcast %b dims [0, 2] : tensor<8x16xf32> -> tensor<8x4x16xf32>
  return
}
