// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<8x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) {
  // CHECK: hone.layer_norm %{{.+}} scale %{{.+}} bias %{{.+}} eps 1.000000e-05 : (tensor<8x64xf32>,
  // CHECK-SAME: tensor<64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  %y, %mean, %rstd = hone.layer_norm %x scale %g bias %b eps 1.0e-05
      : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @bare
func.func @bare(%x: tensor<8x64xbf16>) {
  // CHECK: hone.layer_norm %{{.+}} eps 1.000000e-05 : (tensor<8x64xbf16>) -> (tensor<8x64xbf16>,
  // CHECK-SAME: tensor<8xf32>, tensor<8xf32>)
  %y, %mean, %rstd = hone.layer_norm %x eps 1.0e-05 : (tensor<8x64xbf16>) -> (tensor<8x64xbf16>,
      tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @bias_only
func.func @bias_only(%x: tensor<64xf32>, %b: tensor<64xf32>) {
  // CHECK: hone.layer_norm %{{.+}} bias %{{.+}} eps 1.000000e-05 : (tensor<64xf32>, tensor<64xf32>)
  // CHECK-SAME: -> (tensor<64xf32>, tensor<f32>, tensor<f32>)
  %y, %mean, %rstd = hone.layer_norm %x bias %b eps 1.0e-05 : (tensor<64xf32>, tensor<64xf32>)
      -> (tensor<64xf32>, tensor<f32>, tensor<f32>)
  return
}
