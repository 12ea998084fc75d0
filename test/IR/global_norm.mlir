// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%a: tensor<8x64xf32>, %b: tensor<64xf32>) {
  // CHECK: hone.global_norm %{{.+}}, %{{.+}} : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<f32>
  %n = hone.global_norm %a, %b : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<f32>
  return
}
