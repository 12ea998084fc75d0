// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<8x8x8x32xf32>, %taps: tensor<8x8x8x32xi32>) {
  // CHECK: hone.max_pool_bwd %{{.+}}, %{{.+}} sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1] : tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32> -> tensor<8x16x16x32xf32>
  %dx = hone.max_pool_bwd %dy, %taps sizes [3, 3] strides [2, 2] low [1, 1] high [1, 1] dilations [1, 1]
        : tensor<8x8x8x32xf32>, tensor<8x8x8x32xi32> -> tensor<8x16x16x32xf32>
  return
}
