// RUN: hone-run --eval %s | FileCheck %s

// The update's root mean square is 1.066: it is bounded to 1.
// CHECK-LABEL: @matrix
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}0.901569903, -1.87825274, 0.448826641], [0.167077884, 0.41813454, -0.889261484]]{{$}}
// CHECK-NEXT: result 1: tensor<2xf32> = [0.029296875, 0.09375]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [0.109375, 0.03515625, 0.0244140625]{{$}}
func.func @matrix() -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
  %p = hone.constant dense<[[1.0, -2.0, 0.5], [0.25, 0.5, -1.0]]> : tensor<2x3xf32>
  %g = hone.constant dense<[[0.5, -0.25, 0.125], [1.0, 0.5, -0.5]]> : tensor<2x3xf32>
  %r = hone.constant dense<[0.03125, 0.0625]> : tensor<2xf32>
  %c = hone.constant dense<[0.0625, 0.03125, 0.015625]> : tensor<3xf32>
  %lr = hone.constant dense<0.0625> : tensor<f32>
  %half = hone.constant dense<0.5> : tensor<f32>
  %t = hone.constant dense<4> : tensor<i64>
  %p1, %r1, %c1 = hone.adafactor %p, %g variances (%r, %c) lr %lr weight_decay %half step %t grad_scale %half
      {beta2_decay = -0.5, eps1 = 0.0001220703125, eps2 = 0.0009765625, clip_threshold = 1.0}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
  return %p1, %r1, %c1 : tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
}

// The first step forgets what was; parameters that are zero move by eps2 of the rate.
// CHECK-LABEL: @first_step_of_a_vector
// CHECK-NEXT: result 0: tensor<3xf32> = [-6.10351562e-05, 0, 6.10351562e-05]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [4, 0, 1]{{$}}
func.func @first_step_of_a_vector() -> (tensor<3xf32>, tensor<3xf32>) {
  %p = hone.constant dense<0.0> : tensor<3xf32>
  %g = hone.constant dense<[2.0, 0.0, -1.0]> : tensor<3xf32>
  %v = hone.constant dense<[1.0, 0.0, 0.0]> : tensor<3xf32>
  %lr = hone.constant dense<0.0625> : tensor<f32>
  %one = hone.constant dense<1.0> : tensor<f32>
  %t = hone.constant dense<1> : tensor<i64>
  %p1, %v1 = hone.adafactor %p, %g variances (%v) lr %lr weight_decay %one step %t grad_scale %one
      {beta2_decay = -0.5, eps1 = 0.0001220703125, eps2 = 0.0009765625, clip_threshold = 2.0}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<3xf32>, tensor<3xf32>)
  return %p1, %v1 : tensor<3xf32>, tensor<3xf32>
}
