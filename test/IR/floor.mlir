// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.floor %{{.+}} : tensor<8x64xf32>
  %r = hone.floor %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_f64
func.func @scalar_f64(%x: tensor<f64>) {
  // CHECK: hone.floor %{{.+}} : tensor<f64>
  %r = hone.floor %x : tensor<f64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.floor %{{.+}} : tensor<0x3xf32>
  %r = hone.floor %x : tensor<0x3xf32>
  return
}
