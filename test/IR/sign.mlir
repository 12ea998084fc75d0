// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.sign %{{.+}} : tensor<8x64xf32>
  %r = hone.sign %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i8
func.func @scalar_i8(%x: tensor<i8>) {
  // CHECK: hone.sign %{{.+}} : tensor<i8>
  %r = hone.sign %x : tensor<i8>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.sign %{{.+}} : tensor<0x3xf32>
  %r = hone.sign %x : tensor<0x3xf32>
  return
}
