// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%p: tensor<8x64xf32>, %g: tensor<8x64xf32>, %m: tensor<8x64xf32>, %lr: tensor<f32>, %wd: tensor<f32>, %c: tensor<f32>) {
  // CHECK: hone.muon %{{.+}}, %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{.+}} {eps = {{.+}}, momentum = {{.+}}, nesterov}
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %wd grad_scale %c {momentum = 0.95, eps = 1.0e-07, nesterov, shape_scale = 1.0}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return
}

// CHECK-LABEL: @tall_with_working_copy
func.func @tall_with_working_copy(%p: tensor<8x2xf32>, %x: tensor<f32>, %finite: tensor<i1>) {
  // CHECK: hone.muon {{.*}} apply %{{.+}} {decay_scale = 0.000000e+00 : f64, eps = {{.+}}, maximize, momentum = {{.+}}, shape_scale = 2.000000e+00 : f64}
  // CHECK-SAME: tensor<8x2xbf16>
  %p1, %m1, %s1 = hone.muon %p, %p, %p lr %x weight_decay %x grad_scale %x apply %finite
      {momentum = 0.5, eps = 1.0e-07, shape_scale = 2.0, decay_scale = 0.0, maximize}
      : (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
      -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xbf16>)
  return
}
