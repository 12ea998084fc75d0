// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.abs %{{.+}} : tensor<8x64xf32>
  %r = hone.abs %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i32
func.func @scalar_i32(%x: tensor<i32>) {
  // CHECK: hone.abs %{{.+}} : tensor<i32>
  %r = hone.abs %x : tensor<i32>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.abs %{{.+}} : tensor<0x3xf32>
  %r = hone.abs %x : tensor<0x3xf32>
  return
}
