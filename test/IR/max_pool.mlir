// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x16x16x32xf32>) {
  // CHECK: hone.max_pool %{{.+}} sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] : tensor<8x16x16x32xf32> -> tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32>
  %y, %taps = hone.max_pool %x sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x16x16x32xf32> -> tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32>
  return
}
