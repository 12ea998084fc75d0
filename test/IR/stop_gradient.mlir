// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.stop_gradient %{{.+}} : tensor<8x64xf32>
  %y = hone.stop_gradient %x : tensor<8x64xf32>
  return
}
