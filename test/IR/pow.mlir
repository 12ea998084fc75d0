// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.pow %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.pow %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_f64
func.func @scalar_f64(%x: tensor<f64>, %y: tensor<f64>) {
  // CHECK: hone.pow %{{.+}}, %{{.+}} : tensor<f64>
  %r = hone.pow %x, %y : tensor<f64>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.pow %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.pow %x, %y : tensor<3x0xf32>
  return
}
