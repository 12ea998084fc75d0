// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.min %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.min %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_f16
func.func @scalar_f16(%x: tensor<f16>, %y: tensor<f16>) {
  // CHECK: hone.min %{{.+}}, %{{.+}} : tensor<f16>
  %r = hone.min %x, %y : tensor<f16>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.min %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.min %x, %y : tensor<3x0xf32>
  return
}
