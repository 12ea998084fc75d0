// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @first_step
// CHECK-NEXT: result 0: tensor<3xf32> = [0.850000024, -1.96897304, 0.474999994]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.00999999978, 0.0700000003, 0]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [0.000100000005, 0.0103000002, 0]{{$}}
func.func @first_step() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<[0.0, 0.01, 0.0]> : tensor<3xf32>
  %e = hone.constant dense<0.1> : tensor<f32>
  %f = hone.constant dense<0.5> : tensor<f32>
  %g = hone.constant dense<1> : tensor<i64>
  %h = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1, %v1 = hone.adamw %a, %b, %c, %d lr %e weight_decay %f step %g grad_scale %h
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %p1, %m1, %v1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @later_step_clipped
// CHECK-NEXT: result 0: tensor<3xf32> = [0.936406016, -2.05087519, 0.5]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.00499999989, 0.0799999982, 0]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [2.50000012e-05, 0.00999999978, 0]{{$}}
func.func @later_step_clipped() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<[0.0, 0.01, 0.0]> : tensor<3xf32>
  %e = hone.constant dense<0.1> : tensor<f32>
  %f = hone.constant dense<0.0> : tensor<f32>
  %g = hone.constant dense<3> : tensor<i64>
  %h = hone.constant dense<0.5> : tensor<f32>
  %p1, %m1, %v1 = hone.adamw %a, %b, %c, %d lr %e weight_decay %f step %g grad_scale %h
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %p1, %m1, %v1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @group_scales
// CHECK-NEXT: result 0: tensor<3xf32> = [0.962877035, -2.02560496, 0.5]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.00999999978, 0.0700000003, 0]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [0.000100000005, 0.0103000002, 0]{{$}}
func.func @group_scales() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<[0.0, 0.01, 0.0]> : tensor<3xf32>
  %e = hone.constant dense<0.1> : tensor<f32>
  %f = hone.constant dense<0.5> : tensor<f32>
  %g = hone.constant dense<2> : tensor<i64>
  %h = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1, %v1 = hone.adamw %a, %b, %c, %d lr %e weight_decay %f step %g grad_scale %h
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08, lr_scale = 0.5, decay_scale = 0.0}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %p1, %m1, %v1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @maximize
// CHECK-NEXT: result 0: tensor<3xf32> = [1.04999995, -2.00838614, 0.474999994]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [-0.00999999978, 0.109999999, 0]{{$}}
// CHECK-NEXT: result 2: tensor<3xf32> = [0.000100000005, 0.0103000002, 0]{{$}}
func.func @maximize() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<[0.0, 0.01, 0.0]> : tensor<3xf32>
  %e = hone.constant dense<0.1> : tensor<f32>
  %f = hone.constant dense<0.5> : tensor<f32>
  %g = hone.constant dense<1> : tensor<i64>
  %h = hone.constant dense<1.0> : tensor<f32>
  %p1, %m1, %v1 = hone.adamw %a, %b, %c, %d lr %e weight_decay %f step %g grad_scale %h
      {beta1 = 0.9, beta2 = 0.99, eps = 1.0e-08, maximize}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>,
         tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %p1, %m1, %v1 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
