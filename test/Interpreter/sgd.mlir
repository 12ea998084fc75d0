// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @plain
// CHECK-NEXT: result 0: tensor<3xf32> = [0.99000001, -1.98000002, 0.5]{{$}}
func.func @plain() -> tensor<3xf32> {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<0.1> : tensor<f32>
  %e = hone.constant dense<0.0> : tensor<f32>
  %f = hone.constant dense<1.0> : tensor<f32>
  %p1 = hone.sgd %a, %b lr %d weight_decay %e grad_scale %f
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return %p1 : tensor<3xf32>
}

// CHECK-LABEL: @weight_decay_and_clip
// CHECK-NEXT: result 0: tensor<3xf32> = [0.944999993, -1.88999999, 0.474999994]{{$}}
func.func @weight_decay_and_clip() -> tensor<3xf32> {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<0.1> : tensor<f32>
  %e = hone.constant dense<0.5> : tensor<f32>
  %f = hone.constant dense<0.5> : tensor<f32>
  %p1 = hone.sgd %a, %b lr %d weight_decay %e grad_scale %f
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return %p1 : tensor<3xf32>
}

// CHECK-LABEL: @momentum
// CHECK-NEXT: result 0: tensor<3xf32> = [0.939999998, -1.88899994, 0.474999994]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.600000024, -1.11000001, 0.25]{{$}}
func.func @momentum() -> (tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<0.1> : tensor<f32>
  %e = hone.constant dense<0.5> : tensor<f32>
  %f = hone.constant dense<1.0> : tensor<f32>
  %p1, %b1 = hone.sgd %a, %b lr %d weight_decay %e grad_scale %f buffer %c {momentum = 0.9}
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %p1, %b1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @nesterov
// CHECK-NEXT: result 0: tensor<3xf32> = [0.981000006, -1.97010005, 0.5]{{$}}
// CHECK-NEXT: result 1: tensor<3xf32> = [0.100000001, -0.109999999, 0]{{$}}
func.func @nesterov() -> (tensor<3xf32>, tensor<3xf32>) {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<0.1> : tensor<f32>
  %e = hone.constant dense<0.0> : tensor<f32>
  %f = hone.constant dense<1.0> : tensor<f32>
  %p1, %b1 = hone.sgd %a, %b lr %d weight_decay %e grad_scale %f buffer %c {momentum = 0.9, nesterov}
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %p1, %b1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @maximize_with_scales
// CHECK-NEXT: result 0: tensor<3xf32> = [0.954999983, -1.90999997, 0.474999994]{{$}}
func.func @maximize_with_scales() -> tensor<3xf32> {
  %a = hone.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %b = hone.constant dense<[0.1, -0.2, 0.0]> : tensor<3xf32>
  %c = hone.constant dense<[0.0, 0.1, 0.0]> : tensor<3xf32>
  %d = hone.constant dense<0.1> : tensor<f32>
  %e = hone.constant dense<0.5> : tensor<f32>
  %f = hone.constant dense<1.0> : tensor<f32>
  %p1 = hone.sgd %a, %b lr %d weight_decay %e grad_scale %f {lr_scale = 0.5, decay_scale = 2.0, maximize}
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return %p1 : tensor<3xf32>
}
