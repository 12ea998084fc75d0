// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%p: tensor<8x64xf32>, %g: tensor<8x64xf32>, %r: tensor<8xf32>, %c: tensor<64xf32>, %lr: tensor<f32>,
                   %wd: tensor<f32>, %t: tensor<i64>, %s: tensor<f32>) {
  // CHECK: hone.adafactor %{{.+}}, %{{.+}} variances(%{{.+}}, %{{.+}}) lr %{{.+}} weight_decay %{{.+}} step
  // CHECK-SAME: %{{.+}} grad_scale %{{.+}} {beta2_decay
  %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %wd step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.1920928955078125e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>)
  return
}

// CHECK-LABEL: @vector_with_working_copy
func.func @vector_with_working_copy(%p: tensor<8xf32>, %x: tensor<f32>, %t: tensor<i64>, %finite: tensor<i1>) {
  // CHECK: hone.adafactor %{{.+}}, %{{.+}} variances(%{{.+}}) {{.*}} apply %{{.+}} {beta2_decay
  %p1, %v1, %s1 = hone.adafactor %p, %p variances (%p) lr %x weight_decay %x step %t grad_scale %x apply %finite
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<i1>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>)
  return
}

// Of three dimensions each outer index has its matrix.
// CHECK-LABEL: @matrices
func.func @matrices(%p: tensor<2x3x5xf32>, %r: tensor<2x3xf32>, %c: tensor<2x5xf32>, %x: tensor<f32>, %t: tensor<i64>) {
  // CHECK: hone.adafactor
  %p1, %r1, %c1 = hone.adafactor %p, %p variances (%r, %c) lr %x weight_decay %x step %t grad_scale %x
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>)
  return
}
