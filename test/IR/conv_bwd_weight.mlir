// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x16x16x32xf32>, %dy: tensor<8x8x8x64xf32>) {
  // CHECK: hone.conv_bwd_weight %{{.+}}, %{{.+}} strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] : tensor<8x16x16x32xf32>, tensor<8x8x8x64xf32> -> tensor<3x3x32x64xf32>
  %dw = hone.conv_bwd_weight %x, %dy strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32>, tensor<8x8x8x64xf32> -> tensor<3x3x32x64xf32>
  return
}
