// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.argsort %{{.+}} dim 1 descending : tensor<8x64xf32> -> tensor<8x64xi64>
  %ids = hone.argsort %x dim 1 descending : tensor<8x64xf32> -> tensor<8x64xi64>
  return
}

// CHECK-LABEL: @increasing
func.func @increasing(%x: tensor<8x0xi32>) {
  // CHECK: hone.argsort %{{.+}} dim 0 : tensor<8x0xi32> -> tensor<8x0xi32>
  %ids = hone.argsort %x dim 0 : tensor<8x0xi32> -> tensor<8x0xi32>
  return
}
