// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%p: tensor<8x64xf32>, %g: tensor<8x64xf32>, %m: tensor<8x64xf32>, %lr: tensor<f32>, %wd: tensor<f32>,
                   %c: tensor<f32>) {
  // CHECK: hone.lion %{{.+}}, %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{.+}} {beta1 =
  // CHECK-SAME: 9.000000e-01 : f64,
  // CHECK-SAME: beta2 = 0.98999999999999999 : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>,
  // CHECK-SAME: tensor<f32>, tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return
}

// Momentum in bf16, rounded at random, and a working copy.
// CHECK-LABEL: @conditional
func.func @conditional(%p: tensor<8xf32>, %g: tensor<8xbf16>, %m: tensor<8xbf16>, %x: tensor<f32>, %finite: tensor<i1>,
                       %key: tensor<3xi64>) {
  // CHECK: hone.lion {{.*}} grad_scale %{{.+}} apply %{{.+}} rng %{{.+}} salt 4 {beta1
  %p1, %m1, %s1 = hone.lion %p, %g, %m lr %x weight_decay %x grad_scale %x apply %finite rng %key salt 4
      {beta1 = 0.9, beta2 = 0.99, lr_scale = 0.5, decay_scale = 0.0, maximize}
      : (tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>,
         tensor<3xi64>)
      -> (tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>)
  return
}
