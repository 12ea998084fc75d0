// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<8x8x8x64xf32>, %w: tensor<3x3x32x64xf32>) {
  // CHECK: hone.conv_bwd_input %{{.+}}, %{{.+}} strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] : tensor<8x8x8x64xf32>, tensor<3x3x32x64xf32> -> tensor<8x16x16x32xf32>
  %dx = hone.conv_bwd_input %dy, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x8x8x64xf32>, tensor<3x3x32x64xf32> -> tensor<8x16x16x32xf32>
  return
}
