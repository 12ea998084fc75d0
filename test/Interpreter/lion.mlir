// RUN: hone-run --eval %s | FileCheck %s

// The sign of 0 is 0; the second element moves against its gradient, by its momentum.
// CHECK-LABEL: @first_steps
// CHECK-NEXT: result 0: tensor<3xf32> = [0.850000024, -2, 0.474999994]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.00100000005, 0.0970000029, 0]{{$}}
func.func @first_steps() -> (tensor<3xf32>, tensor<3xf32>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %m = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %lr = hone.constant dense<0.1> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %c = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>,
         tensor<3xf32>)
  return %p1, %m1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @clipped
// CHECK-NEXT: result 0: tensor<3xf32> = [1.10000002, -1.89999998, 0.400000006]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [-0.00939999986, -0.00100000005, 0.100249998]{{$}}
func.func @clipped() -> (tensor<3xf32>, tensor<3xf32>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[0.1, -0.2, 0.25]> : tensor<3xf32>
  %m = hone.constant dense<[-0.01, 0.0, 0.1]> : tensor<3xf32>
  %lr = hone.constant dense<0.1> : tensor<f32>
  %wd = hone.constant dense<0.0> : tensor<f32>
  %c = hone.constant dense<0.5> : tensor<f32>
  %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>,
         tensor<3xf32>)
  return %p1, %m1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @scales
// CHECK-NEXT: result 0: tensor<3xf32> = [0.943750024, -2.0374999, 0.496874988]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.00100000005, 0.0970000029, 0]{{$}}
func.func @scales() -> (tensor<3xf32>, tensor<3xf32>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %m = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %lr = hone.constant dense<0.1> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %c = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99, lr_scale = 0.5,
         decay_scale = 0.25}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>,
         tensor<3xf32>)
  return %p1, %m1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @maximize
// CHECK-NEXT: result 0: tensor<3xf32> = [1.04999995, -2, 0.375]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [-0.00100000005, 0.00200000009, 0.492500007]{{$}}
func.func @maximize() -> (tensor<3xf32>, tensor<3xf32>) {
  %p = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %g = hone.constant dense<[0.1, -0.2, 0.25]> : tensor<3xf32>
  %m = hone.constant dense<[0.0, 0.0, 0.5]> : tensor<3xf32>
  %lr = hone.constant dense<0.1> : tensor<f32>
  %wd = hone.constant dense<0.5> : tensor<f32>
  %c = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1 = hone.lion %p, %g, %m lr %lr weight_decay %wd grad_scale %c {beta1 = 0.9, beta2 = 0.99, maximize}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>,
         tensor<3xf32>)
  return %p1, %m1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @skipped
// CHECK-NEXT: result 0: tensor<2xf32> = [1.00097656, -2]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [0.5, 0]{{$}}
// CHECK-NEXT: result 2: tensor<2xbf16> = [1, -2]{{$}}
func.func @skipped() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>) {
  %p = hone.constant dense<[1.0009765625, -2.0]> : tensor<2xf32>
  %g = hone.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %m = hone.constant dense<[0.5, 0.0]> : tensor<2xf32>
  %x = hone.constant dense<0.1> : tensor<f32>
  %no = hone.constant dense<false> : tensor<i1>
  %p1, %m1, %s1 = hone.lion %p, %g, %m lr %x weight_decay %x grad_scale %x apply %no {beta1 = 0.9, beta2 = 0.99}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>)
  return %p1, %m1, %s1 : tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>
}
