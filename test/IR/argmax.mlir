// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.argmax %{{.+}} dim 1 : tensor<8x64xf32> -> tensor<8xi64>
  %i = hone.argmax %x dim 1 : tensor<8x64xf32> -> tensor<8xi64>
  return
}

// CHECK-LABEL: @leading
func.func @leading(%x: tensor<8x64xf32>) {
  // CHECK: hone.argmax %{{.+}} dim 0 : tensor<8x64xf32> -> tensor<64xi32>
  %i = hone.argmax %x dim 0 : tensor<8x64xf32> -> tensor<64xi32>
  return
}
