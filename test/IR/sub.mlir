// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.sub %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.sub %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i32
func.func @scalar_i32(%x: tensor<i32>, %y: tensor<i32>) {
  // CHECK: hone.sub %{{.+}}, %{{.+}} : tensor<i32>
  %r = hone.sub %x, %y : tensor<i32>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.sub %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.sub %x, %y : tensor<3x0xf32>
  return
}
