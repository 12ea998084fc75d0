// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.cast %{{.+}} : tensor<8x64xf32> -> tensor<8x64xbf16>
  %y = hone.cast %x : tensor<8x64xf32> -> tensor<8x64xbf16>
  return
}

// CHECK-LABEL: @to_bool
func.func @to_bool(%x: tensor<8xi64>) {
  // CHECK: hone.cast %{{.+}} : tensor<8xi64> -> tensor<8xi1>
  %y = hone.cast %x : tensor<8xi64> -> tensor<8xi1>
  return
}
