// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(
    %p: tensor<8x64xf32>, %g: tensor<8x64xf32>, %b: tensor<8x64xf32>, %lr: tensor<f32>, %wd: tensor<f32>,
    %c: tensor<f32>) {
  // CHECK: hone.sgd %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{.+}} buffer %{{.+}} {momentum = 9.000000e-01
  // CHECK-SAME: : f64} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>,
  // CHECK-SAME: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
  %p1, %b1 = hone.sgd %p, %g lr %lr weight_decay %wd grad_scale %c buffer %b {momentum = 0.9}
      : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8x64xf32>)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
  return
}

// CHECK-LABEL: @plain
func.func @plain(%p: tensor<8xf32>, %g: tensor<8xf32>, %lr: tensor<f32>, %wd: tensor<f32>, %c: tensor<f32>) {
  // CHECK: hone.sgd %{{.+}}, %{{.+}} lr %{{.+}} weight_decay %{{.+}} grad_scale %{{.+}} : (tensor<8xf32>,
  // CHECK-SAME: tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  %p1 = hone.sgd %p, %g lr %lr weight_decay %wd grad_scale %c : (tensor<8xf32>, tensor<8xf32>, tensor<f32>,
      tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: @working_copy
func.func @working_copy(%p: tensor<8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %x: tensor<f32>, %finite: tensor<i1>) {
  // CHECK: hone.sgd {{.*}} buffer %{{.+}} apply %{{.+}} {momentum = 9.000000e-01 : f64} : {{.*}} -> (tensor<8xf32>,
  // CHECK-SAME: tensor<8xf32>, tensor<8xf16>)
  %p1, %b1, %s1 = hone.sgd %p, %g lr %x weight_decay %x grad_scale %x buffer %b apply %finite {momentum = 0.9}
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<i1>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf16>)
  // CHECK: hone.sgd {{.*}} apply %{{.+}} : {{.*}} -> (tensor<8xf32>, tensor<8xf16>)
  %p2, %s2 = hone.sgd %p, %g lr %x weight_decay %x grad_scale %x apply %finite
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
      -> (tensor<8xf32>, tensor<8xf16>)
  return
}
