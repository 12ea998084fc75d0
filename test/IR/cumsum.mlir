// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xi64>) {
  // CHECK: hone.cumsum %{{.+}} dim 1 : tensor<8x64xi64>
  %y = hone.cumsum %x dim 1 : tensor<8x64xi64>
  return
}

// CHECK-LABEL: @reverse
func.func @reverse(%x: tensor<8x64xf32>) {
  // CHECK: hone.cumsum %{{.+}} dim 0 reverse : tensor<8x64xf32>
  %y = hone.cumsum %x dim 0 reverse : tensor<8x64xf32>
  return
}
