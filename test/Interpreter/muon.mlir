// RUN: hone-run --eval %s | FileCheck %s

// The numbers of torch.optim.Muon (2.13, CPU), all digits.
// CHECK-LABEL: @wide
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0.927246094, -1.93974304, 0.496765137], [0.240844727, 0.440429688, -0.974761963]]{{$}}
// CHECK-NEXT: result 1: tensor<2x3xf32> = {{\[\[}}0.25, 0.34375, -0.078125], [0.125, 0.8125, 0.125]]{{$}}
// CHECK-LABEL: @tall
// CHECK-NEXT: result 0: tensor<3x2xf32> = {{\[\[}}0.96718955, -2.01285052], [0.497606188, 0.20570828], [0.425171018, -0.956714869]]{{$}}
// CHECK-NEXT: result 1: tensor<3x2xf32> = {{\[\[}}0.25, 0.34375], [-0.078125, 0.125], [0.8125, 0.125]]{{$}}

func.func @wide() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %p = hone.constant dense<[[1.0, -2.0, 0.5], [0.25, 0.5, -1.0]]> : tensor<2x3xf32>
  %g = hone.constant dense<[[0.5, -0.25, 0.125], [1.0, 0.5, -0.5]]> : tensor<2x3xf32>
  %m = hone.constant dense<[[0.25, 0.5, -0.125], [0.0, 1.0, 0.25]]> : tensor<2x3xf32>
  %lr = hone.constant dense<0.0625> : tensor<f32>
  %half = hone.constant dense<0.5> : tensor<f32>
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %half grad_scale %half {momentum = 0.75, eps = 1.0e-07, nesterov}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %p1, %m1 : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @tall() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %p = hone.constant dense<[[1.0, -2.0], [0.5, 0.25], [0.5, -1.0]]> : tensor<3x2xf32>
  %g = hone.constant dense<[[0.5, -0.25], [0.125, 1.0], [0.5, -0.5]]> : tensor<3x2xf32>
  %m = hone.constant dense<[[0.25, 0.5], [-0.125, 0.0], [1.0, 0.25]]> : tensor<3x2xf32>
  %lr = hone.constant dense<0.0625> : tensor<f32>
  %half = hone.constant dense<0.5> : tensor<f32>
  %p1, %m1 = hone.muon %p, %g, %m lr %lr weight_decay %half grad_scale %half
      {momentum = 0.75, eps = 1.0e-07, shape_scale = 1.2247448713915889}
      : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  return %p1, %m1 : tensor<3x2xf32>, tensor<3x2xf32>
}
