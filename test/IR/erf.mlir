// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.erf %{{.+}} : tensor<8x64xf32>
  %r = hone.erf %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_f16
func.func @scalar_f16(%x: tensor<f16>) {
  // CHECK: hone.erf %{{.+}} : tensor<f16>
  %r = hone.erf %x : tensor<f16>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.erf %{{.+}} : tensor<0x3xf32>
  %r = hone.erf %x : tensor<0x3xf32>
  return
}
