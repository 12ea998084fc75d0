// RUN: hone-opt %s --split-input-file --hone-fuse-groups --hone-verify-groups | FileCheck %s

// Updates with one setting share a kernel, whatever their shapes.

// CHECK-LABEL: func.func @update(
// CHECK: hone.fused multi_tensor
// CHECK: hone.sgd {{.*}} {decay_scale = 0.000000e+00{{.*}}} : (tensor<8xf32>
// CHECK-NOT: hone.sgd
// CHECK: hone.yield
// CHECK: hone.fused multi_tensor
// CHECK: hone.sgd {{.*}} : (tensor<3x7xf32>
// CHECK: hone.sgd {{.*}} : (tensor<5xf32>
// CHECK: hone.yield
// CHECK-NOT: hone.fused
func.func @update(%a: tensor<3x7xf32>, %ga: tensor<3x7xf32>, %b: tensor<8xf32>, %gb: tensor<8xf32>,
                  %c: tensor<5xf32>, %gc: tensor<5xf32>, %lr: tensor<f32>, %wd: tensor<f32>, %s: tensor<f32>)
    -> (tensor<3x7xf32>, tensor<8xf32>, tensor<5xf32>) {
  %na = hone.sgd %a, %ga lr %lr weight_decay %wd grad_scale %s
      : (tensor<3x7xf32>, tensor<3x7xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3x7xf32>
  %nb = hone.sgd %b, %gb lr %lr weight_decay %wd grad_scale %s {decay_scale = 0.0}
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  %nc = hone.sgd %c, %gc lr %lr weight_decay %wd grad_scale %s
      : (tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<5xf32>
  return %na, %nb, %nc : tensor<3x7xf32>, tensor<8xf32>, tensor<5xf32>
}

// -----

// The salts of random numbers differ by nature.

// CHECK-LABEL: func.func @salts(
// CHECK: hone.fused multi_tensor
// CHECK: salt 1
// CHECK: salt 2
// CHECK: hone.yield
// CHECK-NOT: hone.fused
func.func @salts(%a: tensor<7xbf16>, %b: tensor<8xbf16>, %lr: tensor<f32>, %key: tensor<3xi64>)
    -> (tensor<7xbf16>, tensor<8xbf16>) {
  %na = hone.sgd %a, %a lr %lr weight_decay %lr grad_scale %lr rng %key salt 1
      : (tensor<7xbf16>, tensor<7xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<7xbf16>
  %nb = hone.sgd %b, %b lr %lr weight_decay %lr grad_scale %lr rng %key salt 2
      : (tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<8xbf16>
  return %na, %nb : tensor<7xbf16>, tensor<8xbf16>
}

// -----

// Gradients of another type are another kernel.

// CHECK-LABEL: func.func @types(
// CHECK-COUNT-2: hone.fused multi_tensor
// CHECK-NOT: hone.fused
func.func @types(%a: tensor<7xf32>, %ga: tensor<7xf32>, %b: tensor<8xf32>, %gb: tensor<8xbf16>, %lr: tensor<f32>)
    -> (tensor<7xf32>, tensor<8xf32>) {
  %na = hone.sgd %a, %ga lr %lr weight_decay %lr grad_scale %lr
      : (tensor<7xf32>, tensor<7xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
  %nb = hone.sgd %b, %gb lr %lr weight_decay %lr grad_scale %lr
      : (tensor<8xf32>, tensor<8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return %na, %nb : tensor<7xf32>, tensor<8xf32>
}

// -----

// One group of both would depend on itself.

// CHECK-LABEL: func.func @read_elsewhere(
// CHECK: hone.fused multi_tensor
// CHECK: hone.fused map
// CHECK: hone.fused multi_tensor
func.func @read_elsewhere(%a: tensor<7xf32>, %lr: tensor<f32>) -> tensor<7xf32> {
  %na = hone.sgd %a, %a lr %lr weight_decay %lr grad_scale %lr
      : (tensor<7xf32>, tensor<7xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
  %g = hone.neg %na : tensor<7xf32>
  %nb = hone.sgd %a, %g lr %lr weight_decay %lr grad_scale %lr
      : (tensor<7xf32>, tensor<7xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<7xf32>
  return %nb : tensor<7xf32>
}
