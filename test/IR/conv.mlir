// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x16x16x32xf32>, %w: tensor<3x3x32x64xf32>) {
  // CHECK: hone.conv %{{.+}}, %{{.+}} strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] : tensor<8x16x16x32xf32>, tensor<3x3x32x64xf32> -> tensor<8x8x8x64xf32>
  %y = hone.conv %x, %w strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32>, tensor<3x3x32x64xf32> -> tensor<8x8x8x64xf32>
  return
}

// CHECK-LABEL: @depthwise
func.func @depthwise(%x: tensor<2x9x4xbf16>, %w: tensor<4x1x4xbf16>) {
  // CHECK: hone.conv depthwise %{{.+}}, %{{.+}} strides [1] low [3] high [0] dilations [1] : tensor<2x9x4xbf16>, tensor<4x1x4xbf16> -> tensor<2x9x4xbf16>
  %y = hone.conv depthwise %x, %w strides [1] low [3] high [0] dilations [1] : tensor<2x9x4xbf16>, tensor<4x1x4xbf16> -> tensor<2x9x4xbf16>
  return
}

// CHECK-LABEL: @volume_of_no_batch
func.func @volume_of_no_batch(%x: tensor<0x4x4x4x2xf32>, %w: tensor<2x2x2x1x6xf32>) {
  // CHECK: tensor<0x4x4x4x2xf32>, tensor<2x2x2x1x6xf32> -> tensor<0x3x2x2x6xf32>
  %y = hone.conv %x, %w strides [1, 1, 2] low [0, 0, 0] high [0, 0, 0] dilations [1, 2, 1] : tensor<0x4x4x4x2xf32>, tensor<2x2x2x1x6xf32> -> tensor<0x3x2x2x6xf32>
  return
}
