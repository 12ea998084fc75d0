// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%g: tensor<f32>, %x: tensor<32x256xf32>, %t: tensor<32xi64>, %lse: tensor<32xf32>) {
  // CHECK: hone.cross_entropy_bwd  mean %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore_index -100 label_smoothing 0.000000e+00
  // CHECK-SAME: : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  %dx = hone.cross_entropy_bwd mean %g, %x, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<32x256xf32>, tensor<32xi64>, tensor<32xf32>) -> tensor<32x256xf32>
  return
}

// CHECK-LABEL: @per_row
func.func @per_row(%g: tensor<32xf32>, %x: tensor<32x256xf32>, %t: tensor<32xi32>, %lse: tensor<32xf32>) {
  // CHECK: hone.cross_entropy_bwd  none %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} ignore_index 0 label_smoothing 5.000000e-01
  // CHECK-SAME: : (tensor<32xf32>, tensor<32x256xf32>, tensor<32xi32>, tensor<32xf32>) -> tensor<32x256xf32>
  %dx = hone.cross_entropy_bwd none %g, %x, %t, %lse ignore_index 0 label_smoothing 5.0e-01
      : (tensor<32xf32>, tensor<32x256xf32>, tensor<32xi32>, tensor<32xf32>) -> tensor<32x256xf32>
  return
}
