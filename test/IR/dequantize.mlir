// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%codes: tensor<8x32xi8>, %absmax: tensor<8x1xf32>) {
  // CHECK: hone.dequantize nf4 %{{.+}} scales %{{.+}} block 64 : tensor<8x32xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
  %w = hone.dequantize nf4 %codes scales %absmax block 64
      : tensor<8x32xi8>, tensor<8x1xf32> -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @int8
func.func @int8(%codes: tensor<2x3x5xi8>, %scales: tensor<2x3x2xf32>) {
  // CHECK: hone.dequantize int8 %{{.+}} scales %{{.+}} block 3
  // CHECK-SAME: tensor<2x3x5xi8>, tensor<2x3x2xf32> -> tensor<2x3x5xbf16>
  %w = hone.dequantize int8 %codes scales %scales block 3
      : tensor<2x3x5xi8>, tensor<2x3x2xf32> -> tensor<2x3x5xbf16>
  return
}
