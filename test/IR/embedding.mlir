// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%table: tensor<256x64xf32>, %ids: tensor<2x16xi64>) {
  // CHECK: hone.embedding %{{.+}}, %{{.+}} : tensor<256x64xf32>, tensor<2x16xi64> -> tensor<2x16x64xf32>
  %x = hone.embedding %table, %ids : tensor<256x64xf32>, tensor<2x16xi64> -> tensor<2x16x64xf32>
  return
}

// CHECK-LABEL: @one_id
func.func @one_id(%table: tensor<256x64xbf16>, %ids: tensor<i32>) {
  // CHECK: hone.embedding %{{.+}}, %{{.+}} : tensor<256x64xbf16>, tensor<i32> -> tensor<64xbf16>
  %x = hone.embedding %table, %ids : tensor<256x64xbf16>, tensor<i32> -> tensor<64xbf16>
  return
}
