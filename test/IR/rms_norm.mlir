// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %g: tensor<64xf32>) {
  // CHECK: hone.rms_norm %{{.+}} scale %{{.+}} eps 1.000000e-05 : (tensor<8x64xf32>, tensor<64xf32>)
  // CHECK-SAME: -> (tensor<8x64xf32>, tensor<8xf32>)
  %y, %rstd = hone.rms_norm %x scale %g eps 1.0e-05
      : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @bare
func.func @bare(%x: tensor<8x64xf32>) {
  // CHECK: hone.rms_norm %{{.+}} eps 9.9999999999999995E-7 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  %y, %rstd = hone.rms_norm %x eps 1.0e-06 : (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return
}
