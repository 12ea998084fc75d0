// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x64xf32>) {
  // CHECK: hone.reshape %{{.+}} : tensor<2x16x64xf32> -> tensor<32x64xf32>
  %y = hone.reshape %x : tensor<2x16x64xf32> -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: @to_scalar
func.func @to_scalar(%x: tensor<1x1xf32>) {
  // CHECK: hone.reshape %{{.+}} : tensor<1x1xf32> -> tensor<f32>
  %y = hone.reshape %x : tensor<1x1xf32> -> tensor<f32>
  return
}

// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x4xf32>) {
  // CHECK: hone.reshape %{{.+}} : tensor<0x4xf32> -> tensor<2x0xf32>
  %y = hone.reshape %x : tensor<0x4xf32> -> tensor<2x0xf32>
  return
}
