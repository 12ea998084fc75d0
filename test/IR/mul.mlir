// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // CHECK: hone.mul %{{.+}}, %{{.+}} : tensor<8x64xf32>
  %r = hone.mul %x, %y : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @scalar_bf16
func.func @scalar_bf16(%x: tensor<bf16>, %y: tensor<bf16>) {
  // CHECK: hone.mul %{{.+}}, %{{.+}} : tensor<bf16>
  %r = hone.mul %x, %y : tensor<bf16>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<3x0xf32>, %y: tensor<3x0xf32>) {
  // CHECK: hone.mul %{{.+}}, %{{.+}} : tensor<3x0xf32>
  %r = hone.mul %x, %y : tensor<3x0xf32>
  return
}
