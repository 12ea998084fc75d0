// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>) {
  // CHECK: hone.rsqrt %{{.+}} : tensor<8x64xf32>
  %r = hone.rsqrt %x : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_bf16
func.func @scalar_bf16(%x: tensor<bf16>) {
  // CHECK: hone.rsqrt %{{.+}} : tensor<bf16>
  %r = hone.rsqrt %x : tensor<bf16>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x3xf32>) {
  // CHECK: hone.rsqrt %{{.+}} : tensor<0x3xf32>
  %r = hone.rsqrt %x : tensor<0x3xf32>
  return
}
