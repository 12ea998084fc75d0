// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.neg %{{.+}} : tensor<8x64xf32>
  %r = hone.neg %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i64
func.func @scalar_i64(%x: tensor<i64>) {
  // CHECK: hone.neg %{{.+}} : tensor<i64>
  %r = hone.neg %x : tensor<i64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.neg %{{.+}} : tensor<0x3xf32>
  %r = hone.neg %x : tensor<0x3xf32>
  return
}
