// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.logistic %{{.+}} : tensor<8x64xf32>
  %r = hone.logistic %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_bf16
func.func @scalar_bf16(%x: tensor<bf16>) {
  // CHECK: hone.logistic %{{.+}} : tensor<bf16>
  %r = hone.logistic %x : tensor<bf16>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.logistic %{{.+}} : tensor<0x3xf32>
  %r = hone.logistic %x : tensor<0x3xf32>
  return
}
