// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xbf16>) -> tensor<f32> {
  // CHECK: hone.amax %{{.+}} : tensor<8x64xbf16>
  %a = hone.amax %x : tensor<8x64xbf16>
  return %a : tensor<f32>
}
