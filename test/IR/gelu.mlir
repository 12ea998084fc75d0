// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.gelu  tanh %{{.+}} : tensor<8x64xf32>
  %y = hone.gelu tanh %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @erf
func.func @erf(%x: tensor<8x64xf32>) {
  // CHECK: hone.gelu  erf %{{.+}} : tensor<8x64xf32>
  %y = hone.gelu erf %x : tensor<8x64xf32>
  return
}
