// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s
// RUN: hone-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @example
func.func @example(%x: tensor<64x32xf32>, %w: tensor<8x32x48xf32>, %ends: tensor<8xi32>) {
  // CHECK: hone.grouped_dot %{{.+}}, %{{.+}}, %{{.+}} contract 1 : tensor<64x32xf32>, tensor<8x32x48xf32>, tensor<8xi32> -> tensor<64x48xf32>
  %y = hone.grouped_dot %x, %w, %ends contract 1
        : tensor<64x32xf32>, tensor<8x32x48xf32>, tensor<8xi32> -> tensor<64x48xf32>
  return
}

// A product with transposed matrices contracts their other dimension.

// FOLD-LABEL: @transposed
// FOLD-SAME: %[[X:[a-z0-9]+]]: tensor<4x3xbf16>, %[[W:[a-z0-9]+]]: tensor<2x5x3xbf16>
// FOLD-NEXT: %[[Y:.+]] = hone.grouped_dot %[[X]], %[[W]], %{{.+}} contract 2
// FOLD-NEXT: return %[[Y]]
func.func @transposed(%x: tensor<4x3xbf16>, %w: tensor<2x5x3xbf16>, %e: tensor<2xi64>) -> tensor<4x5xbf16> {
  %t = hone.transpose %w [0, 2, 1] : tensor<2x5x3xbf16> -> tensor<2x3x5xbf16>
  %y = hone.grouped_dot %x, %t, %e contract 1 : tensor<4x3xbf16>, tensor<2x3x5xbf16>, tensor<2xi64> -> tensor<4x5xbf16>
  return %y : tensor<4x5xbf16>
}
