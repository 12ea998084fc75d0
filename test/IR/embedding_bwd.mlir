// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<2x16x64xf32>, %ids: tensor<2x16xi64>) {
  // CHECK: hone.embedding_bwd %{{.+}}, %{{.+}} : tensor<2x16x64xf32>, tensor<2x16xi64> -> tensor<256x64xf32>
  %dt = hone.embedding_bwd %dy, %ids : tensor<2x16x64xf32>, tensor<2x16xi64> -> tensor<256x64xf32>
  return
}
