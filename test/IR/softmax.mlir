// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.softmax %{{.+}} : tensor<8x64xf32>
  %p = hone.softmax %x : tensor<8x64xf32>
  return
}
