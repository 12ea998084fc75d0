// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.softmax_bwd %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %dx = hone.softmax_bwd %dy, %y : tensor<8x64xf32>
  return
}
