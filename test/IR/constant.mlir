// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example() {
  // CHECK: hone.constant dense<1.000000e+00> : tensor<8x64xf32>
  %c = hone.constant dense<1.0> : tensor<8x64xf32>
  return
}

// CHECK-LABEL: @elements
func.func @elements() {
  // CHECK: hone.constant dense<{{\[\[}}1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %c = hone.constant dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  return
}

// CHECK-LABEL: @special_values
func.func @special_values() {
  // CHECK: hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %c = hone.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  return
}

// CHECK-LABEL: @empty
func.func @empty() {
  // CHECK: hone.constant dense<> : tensor<0x4xbf16>
  %c = hone.constant dense<> : tensor<0x4xbf16>
  return
}
