// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) {
  // CHECK: hone.select_mode training %{{.+}} evaluation %{{.+}} : tensor<8x64xf32>
  %y = hone.select_mode training %x evaluation %z : tensor<8x64xf32>
  return
}
