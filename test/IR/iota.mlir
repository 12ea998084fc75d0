// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example() {
  // CHECK: hone.iota dim 1 : tensor<8x64xi64>
  %i = hone.iota dim 1 : tensor<8x64xi64>
  return
}

// CHECK-LABEL: @float
func.func @float() {
  // CHECK: hone.iota dim 0 : tensor<8xf32>
  %i = hone.iota dim 0 : tensor<8xf32>
  return
}
