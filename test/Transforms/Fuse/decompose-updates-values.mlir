// The primitives compute what the op does: in double to 1e-12, in fp32 to its rounding errors.
// RUN: hone-opt %s --hone-decompose-updates -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t %s --args 4 --rtol 1e-5 --atol 2e-6
// REQUIRES: hone-run

// CHECK-NOT: hone.adafactor

func.func @matrix(%p: tensor<5x37xf32>, %g: tensor<5x37xf32>, %x: tensor<5xf32>, %y: tensor<37xf32>)
    -> (tensor<5x37xf32>, tensor<5xf32>, tensor<37xf32>) {
  %r = hone.mul %x, %x : tensor<5xf32>
  %c = hone.mul %y, %y : tensor<37xf32>
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %t = hone.constant dense<3> : tensor<i64>
  %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %wd step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<37xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<5x37xf32>, tensor<5xf32>, tensor<37xf32>)
  return %p1, %r1, %c1 : tensor<5x37xf32>, tensor<5xf32>, tensor<37xf32>
}

// Each outer index has its matrix; the root mean squares are over all. The update is below the bound.
func.func @matrices(%p: tensor<2x3x5xf32>, %g: tensor<2x3x5xf32>, %x: tensor<2x3xf32>, %y: tensor<2x5xf32>)
    -> (tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>) {
  %r = hone.mul %x, %x : tensor<2x3xf32>
  %c = hone.mul %y, %y : tensor<2x5xf32>
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %t = hone.constant dense<3> : tensor<i64>
  %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %wd step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 100.0, lr_scale = 0.5, decay_scale = 2.0, maximize}
      : (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>)
  return %p1, %r1, %c1 : tensor<2x3x5xf32>, tensor<2x3xf32>, tensor<2x5xf32>
}

func.func @vector_with_working_copy(%p: tensor<37xf32>, %g: tensor<37xbf16>, %x: tensor<37xf32>)
    -> (tensor<37xf32>, tensor<37xf32>, tensor<37xbf16>) {
  %v = hone.mul %x, %x : tensor<37xf32>
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %t = hone.constant dense<3> : tensor<i64>
  %yes = hone.constant dense<true> : tensor<i1>
  %p1, %v1, %s1 = hone.adafactor %p, %g variances (%v) lr %lr weight_decay %wd step %t grad_scale %s apply %yes
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<37xf32>, tensor<37xbf16>, tensor<37xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>,
         tensor<i1>) -> (tensor<37xf32>, tensor<37xf32>, tensor<37xbf16>)
  return %p1, %v1, %s1 : tensor<37xf32>, tensor<37xf32>, tensor<37xbf16>
}

func.func @scalar(%p: tensor<f32>, %g: tensor<f32>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %v = hone.mul %x, %x : tensor<f32>
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %t = hone.constant dense<3> : tensor<i64>
  %p1, %v1 = hone.adafactor %p, %g variances (%v) lr %lr weight_decay %wd step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<f32>, tensor<f32>)
  return %p1, %v1 : tensor<f32>, tensor<f32>
}

// A gradient of zeros moves nothing but by decay: eps1 keeps the quotient finite.
func.func @no_gradient(%p: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>) {
  %g = hone.constant dense<0.0> : tensor<4x3xf32>
  %r = hone.constant dense<0.0> : tensor<4xf32>
  %c = hone.constant dense<0.0> : tensor<3xf32>
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %t = hone.constant dense<3> : tensor<i64>
  %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %wd step %t grad_scale %s
      {beta2_decay = -0.8, eps1 = 1.0e-07, eps2 = 1.0e-03, clip_threshold = 1.0}
      : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>)
  return %p1, %r1, %c1 : tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>
}
