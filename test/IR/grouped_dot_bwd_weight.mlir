// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<64x32xf32>, %dy: tensor<64x48xf32>, %ends: tensor<8xi32>) {
  // CHECK: hone.grouped_dot_bwd_weight %{{.+}}, %{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<64x48xf32>, tensor<8xi32> -> tensor<8x32x48xf32>
  %dw = hone.grouped_dot_bwd_weight %x, %dy, %ends
        : tensor<64x32xf32>, tensor<64x48xf32>, tensor<8xi32> -> tensor<8x32x48xf32>
  return
}
