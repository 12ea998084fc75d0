// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>) {
  // CHECK: hone.gelu_bwd  tanh %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %dx = hone.gelu_bwd tanh %dy, %x : tensor<8x64xf32>
  return
}
