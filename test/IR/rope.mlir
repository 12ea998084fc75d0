// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x4x64xf32>, %cos: tensor<16x32xf32>, %sin: tensor<16x32xf32>) {
  // CHECK: hone.rope  half %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x16x4x64xf32>, tensor<16x32xf32>
  %y = hone.rope half %x, %cos, %sin : tensor<2x16x4x64xf32>, tensor<16x32xf32>
  return
}

// CHECK-LABEL: @inverse
func.func @inverse(%x: tensor<2x16x4x64xf32>, %cos: tensor<16x32xf32>, %sin: tensor<16x32xf32>) {
  // CHECK: hone.rope  interleaved inverse %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x16x4x64xf32>, tensor<16x32xf32>
  %y = hone.rope interleaved inverse %x, %cos, %sin : tensor<2x16x4x64xf32>, tensor<16x32xf32>
  return
}
