// The primitives compute what the op does: in double to 1e-12. Typed values round an iterate in bf16, so that two orders of a sum may differ by some
// ulps of it, 2^-8 of elements below 1, in a step of lr = 0.02.
// RUN: hone-opt %s --hone-decompose-updates -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: hone-run --compare %t %s --args 3 --f64 --rtol 1e-12 --atol 1e-12
// RUN: hone-run --compare %t %s --args 4 --rtol 1e-6 --atol 1e-3
// REQUIRES: hone-run

// CHECK-NOT: hone.muon
// Products are of bf16 and in f32, and only the smaller Gram matrix is made.
// CHECK-LABEL: @f5x37
// CHECK: hone.dot_general %{{.+}} : tensor<5x37xbf16>, tensor<5x37xbf16> -> tensor<5x5xf32>
// CHECK: hone.dot_general %{{.+}} : tensor<5x5xbf16>, tensor<5x5xbf16> -> tensor<5x5xf32>
// CHECK: hone.dot_general %{{.+}} : tensor<5x5xbf16>, tensor<5x37xbf16> -> tensor<5x37xf32>
// CHECK-LABEL: @f37x5
// CHECK: hone.dot_general %{{.+}} : tensor<37x5xbf16>, tensor<37x5xbf16> -> tensor<5x5xf32>
// CHECK: hone.dot_general %{{.+}} : tensor<37x5xbf16>, tensor<5x5xbf16> -> tensor<37x5xf32>

func.func @f5x37(%p: tensor<5x37xf32>, %g: tensor<5x37xf32>, %m: tensor<5x37xf32>) -> (tensor<5x37xf32>, tensor<5x37xf32>) {
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %wd grad_scale %s {momentum = 0.95, eps = 1.0e-07, nesterov}
      : (tensor<5x37xf32>, tensor<5x37xf32>, tensor<5x37xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<5x37xf32>, tensor<5x37xf32>)
  return %p1, %m1 : tensor<5x37xf32>, tensor<5x37xf32>
}

func.func @f37x5(%p: tensor<37x5xf32>, %g: tensor<37x5xf32>, %m: tensor<37x5xf32>) -> (tensor<37x5xf32>, tensor<37x5xf32>) {
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %wd grad_scale %s {momentum = 0.95, eps = 1.0e-07, shape_scale = 2.72, lr_scale = 0.5, decay_scale = 2.0, maximize}
      : (tensor<37x5xf32>, tensor<37x5xf32>, tensor<37x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<37x5xf32>, tensor<37x5xf32>)
  return %p1, %m1 : tensor<37x5xf32>, tensor<37x5xf32>
}

func.func @f16x16(%p: tensor<16x16xf32>, %g: tensor<16x16xf32>, %m: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %lr = hone.constant dense<0.02> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %s = hone.constant dense<0.75> : tensor<f32>
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %wd grad_scale %s {momentum = 0.95, eps = 1.0e-07, nesterov}
      : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<16x16xf32>, tensor<16x16xf32>)
  return %p1, %m1 : tensor<16x16xf32>, tensor<16x16xf32>
}

// Where the update is not applied, nothing changes, whatever the gradient holds.
func.func @skipped(%p: tensor<4x3xf32>, %m: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xbf16>) {
  %g = hone.constant dense<0x7FC00000> : tensor<4x3xf32>
  %x = hone.constant dense<0.5> : tensor<f32>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %m1, %s1 = hone.muon %p, %g, %m lr %x weight_decay %x grad_scale %x apply %no {momentum = 0.95, eps = 1.0e-07}
      : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
      -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xbf16>)
  return %p1, %m1, %s1 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xbf16>
}
