// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xi1>, %y: tensor<8x64xi1>) {
  // CHECK: hone.and %{{.+}}, %{{.+}} : tensor<8x64xi1>
  %r = hone.and %x, %y : tensor<8x64xi1>
  return
}

// CHECK-LABEL: @scalar_i64
func.func @scalar_i64(%x: tensor<i64>, %y: tensor<i64>) {
  // CHECK: hone.and %{{.+}}, %{{.+}} : tensor<i64>
  %r = hone.and %x, %y : tensor<i64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xi1>, %y: tensor<3x0xi1>) {
  // CHECK: hone.and %{{.+}}, %{{.+}} : tensor<3x0xi1>
  %r = hone.and %x, %y : tensor<3x0xi1>
  return
}
