// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xi1>, %y: tensor<8x64xi1>) {
  // CHECK: hone.or %{{.+}}, %{{.+}} : tensor<8x64xi1>
  %r = hone.or %x, %y : tensor<8x64xi1>
  return
}

// CHECK-LABEL: @scalar_i32
func.func @scalar_i32(%x: tensor<i32>, %y: tensor<i32>) {
  // CHECK: hone.or %{{.+}}, %{{.+}} : tensor<i32>
  %r = hone.or %x, %y : tensor<i32>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xi1>, %y: tensor<3x0xi1>) {
  // CHECK: hone.or %{{.+}}, %{{.+}} : tensor<3x0xi1>
  %r = hone.or %x, %y : tensor<3x0xi1>
  return
}
