// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.div %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.div %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_i64
func.func @scalar_i64(%x: tensor<i64>, %y: tensor<i64>) {
  // CHECK: hone.div %{{.+}}, %{{.+}} : tensor<i64>
  %r = hone.div %x, %y : tensor<i64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.div %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.div %x, %y : tensor<3x0xf32>
  return
}
