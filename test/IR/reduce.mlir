// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.reduce  sum %{{.+}} dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %s = hone.reduce sum %x dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  return
}

// CHECK-LABEL: @kinds
func.func @kinds(%x: tensor<8x64xi64>) {
  // CHECK: hone.reduce  max %{{.+}} dims [0] : tensor<8x64xi64> -> tensor<64xi64>
  %0 = hone.reduce max %x dims [0] : tensor<8x64xi64> -> tensor<64xi64>
  // CHECK: hone.reduce  min %{{.+}} dims [0, 1] : tensor<8x64xi64> -> tensor<i64>
  %1 = hone.reduce min %x dims [0, 1] : tensor<8x64xi64> -> tensor<i64>
  return
}
