// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x192xf32>) {
  // CHECK: hone.slice %{{.+}} [0, 64] to [8, 128] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
  %y = hone.slice %x [0, 64] to [8, 128] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @strided
func.func @strided(%x: tensor<7xf32>) {
  // CHECK: hone.slice %{{.+}} [1] to [7] by [4] : tensor<7xf32> -> tensor<2xf32>
  %y = hone.slice %x [1] to [7] by [4] : tensor<7xf32> -> tensor<2xf32>
  return
}

// CHECK-LABEL: @nothing
func.func @nothing(%x: tensor<7xf32>) {
  // CHECK: hone.slice %{{.+}} [7] to [7] by [1] : tensor<7xf32> -> tensor<0xf32>
  %y = hone.slice %x [7] to [7] by [1] : tensor<7xf32> -> tensor<0xf32>
  return
}
