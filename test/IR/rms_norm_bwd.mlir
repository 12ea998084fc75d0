// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>, %rstd: tensor<8xf32>, %g: tensor<64xf32>) {
  // CHECK: hone.rms_norm_bwd %{{.+}}, %{{.+}}, %{{.+}} scale %{{.+}} : (tensor<8x64xf32>, tensor<8x64xf32>,
  // CHECK-SAME: tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %dx = hone.rms_norm_bwd %dy, %x, %rstd scale %g
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @bare
func.func @bare(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>, %rstd: tensor<8xf32>) {
  // CHECK: hone.rms_norm_bwd %{{.+}}, %{{.+}}, %{{.+}} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>)
  // CHECK-SAME: -> tensor<8x64xf32>
  %dx = hone.rms_norm_bwd %dy, %x, %rstd : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}
