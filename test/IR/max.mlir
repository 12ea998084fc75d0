// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.max %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.max %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i8
func.func @scalar_i8(%x: tensor<i8>, %y: tensor<i8>) {
  // CHECK: hone.max %{{.+}}, %{{.+}} : tensor<i8>
  %r = hone.max %x, %y : tensor<i8>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.max %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.max %x, %y : tensor<3x0xf32>
  return
}
