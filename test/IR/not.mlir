// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xi1>) {
  // CHECK: hone.not %{{.+}} : tensor<8x64xi1>
  %r = hone.not %x : tensor<8x64xi1>
  return
}

// CHECK-LABEL: @scalar_i64
func.func @scalar_i64(%x: tensor<i64>) {
  // CHECK: hone.not %{{.+}} : tensor<i64>
  %r = hone.not %x : tensor<i64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xi1>) {
  // CHECK: hone.not %{{.+}} : tensor<0x3xi1>
  %r = hone.not %x : tensor<0x3xi1>
  return
}
