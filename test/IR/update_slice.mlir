// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%cache: tensor<1x64x4x16xf32>, %row: tensor<1x1x4x16xf32>, %position: tensor<i64>) {
  // CHECK: hone.update_slice %{{.+}}, %{{.+}} at %{{.+}} dim 1 : tensor<1x64x4x16xf32>, tensor<1x1x4x16xf32>
  %new = hone.update_slice %cache, %row at %position dim 1 : tensor<1x64x4x16xf32>, tensor<1x1x4x16xf32>
  return
}
