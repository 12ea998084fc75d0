// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s

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
