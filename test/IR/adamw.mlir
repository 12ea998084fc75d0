// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(
    %p: tensor<8x64xf32>, %g: tensor<8x64xf32>, %m: tensor<8x64xf32>, %v: tensor<8x64xf32>,
    %lr: tensor<f32>, %wd: tensor<f32>, %t: tensor<i64>, %c: tensor<f32>, %finite: tensor<i1>) {
  // CHECK: hone.adamw %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} step %{{.+}} grad_scale %{{.+}} {beta1 = 9.000000e-01
  // CHECK-SAME: : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64} : (tensor<8x64xf32>,
  // CHECK-SAME: tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
  // CHECK-SAME: tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  // CHECK: hone.adamw {{.*}} grad_scale %{{.+}} apply %{{.+}} {beta1{{.*}} tensor<i1>) -> (tensor<8x64xf32>,
  // CHECK-SAME: tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xbf16>)
  %p1, %m1, %v1 = hone.adamw %p, %g, %m, %v lr %lr weight_decay %wd step %t grad_scale %c
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>,
        tensor<i64>, tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %p2, %m2, %v2, %s2 = hone.adamw %p, %g, %m, %v lr %lr weight_decay %wd step %t grad_scale %c apply %finite
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>,
         tensor<i64>, tensor<f32>, tensor<i1>)
      -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xbf16>)
  return
}

// Weight and moments in bf16 alone, rounded at random.
// CHECK-LABEL: @stochastic
func.func @stochastic(%p: tensor<8xbf16>, %g: tensor<8xf32>, %x: tensor<f32>, %t: tensor<i64>, %key: tensor<3xi64>) {
  // CHECK: hone.adamw {{.*}} grad_scale %{{.+}} rng %{{.+}} salt 4 {beta1
  %p1, %m1, %v1 = hone.adamw %p, %g, %p, %p lr %x weight_decay %x step %t grad_scale %x rng %key salt 4
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>, tensor<3xi64>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  return
}

// CHECK-LABEL: @part
func.func @part(%p: tensor<8xbf16>, %x: tensor<f32>, %t: tensor<i64>, %key: tensor<3xi64>, %o: tensor<i64>) {
  // CHECK: hone.adamw {{.*}} rng %{{.+}} salt 4 origin %{{.+}} of [32] {beta1
  %p1, %m1, %v1 = hone.adamw %p, %p, %p, %p lr %x weight_decay %x step %t grad_scale %x rng %key salt 4 origin %o of [32]
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-08}
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>, tensor<3xi64>, tensor<i64>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  return
}
