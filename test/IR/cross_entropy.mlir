// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<32x256xf32>, %t: tensor<32xi64>) {
  // CHECK: hone.cross_entropy  mean %{{.+}}, %{{.+}} ignore_index -100 label_smoothing 0.000000e+00
  // CHECK-SAME: : tensor<32x256xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  %loss, %lse = hone.cross_entropy mean %x, %t ignore_index -100 label_smoothing 0.0
      : tensor<32x256xf32>, tensor<32xi64> -> tensor<f32>, tensor<32xf32>
  return
}

// CHECK-LABEL: @per_row
func.func @per_row(%x: tensor<2x16x256xf32>, %t: tensor<2x16xi64>) {
  // CHECK: hone.cross_entropy  none %{{.+}}, %{{.+}} ignore_index -1 label_smoothing 1.000000e-01
  // CHECK-SAME: : tensor<2x16x256xf32>, tensor<2x16xi64> -> tensor<2x16xf32>, tensor<2x16xf32>
  %loss, %lse = hone.cross_entropy none %x, %t ignore_index -1 label_smoothing 1.0e-01
      : tensor<2x16x256xf32>, tensor<2x16xi64> -> tensor<2x16xf32>, tensor<2x16xf32>
  return
}

// CHECK-LABEL: @total
func.func @total(%x: tensor<256xf32>, %t: tensor<i64>) {
  // CHECK: hone.cross_entropy  sum %{{.+}}, %{{.+}} ignore_index -100 label_smoothing 0.000000e+00
  // CHECK-SAME: : tensor<256xf32>, tensor<i64> -> tensor<f32>, tensor<f32>
  %loss, %lse = hone.cross_entropy sum %x, %t ignore_index -100 label_smoothing 0.0 : tensor<256xf32>,
      tensor<i64> -> tensor<f32>, tensor<f32>
  return
}
