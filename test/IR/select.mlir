// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%p: tensor<8x64xi1>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<8x64xi1>, tensor<8x64xf32>
  %r = hone.select %p, %x, %y : tensor<8x64xi1>, tensor<8x64xf32>
  return
}

// CHECK-LABEL: @booleans
func.func @booleans(%p: tensor<8xi1>, %x: tensor<8xi1>, %y: tensor<8xi1>) {
  // CHECK: hone.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<8xi1>, tensor<8xi1>
  %r = hone.select %p, %x, %y : tensor<8xi1>, tensor<8xi1>
  return
}
