// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @per_row
// CHECK-NEXT: result 0: tensor<3x3xf32> = {{\[\[}}0.231223896, -0.371468306, 0.14024438], [0, 0, 0], [0.557201624, -0.0264257733, -0.530775845]]{{$}}
func.func @per_row() -> tensor<3x3xf32> {
  %a = hone.constant dense<[1.0, 5.0, -2.0]> : tensor<3xf32>
  %b = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %c = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %d = hone.constant dense<[2.46436882, 1.09861231, 3.32656264]> : tensor<3xf32>
  %r = hone.cross_entropy_bwd none %a, %b, %c, %d ignore_index -100 label_smoothing 0.0
      : (tensor<3xf32>, tensor<3x3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: @mean
// CHECK-NEXT: result 0: tensor<3x3xf32> = {{\[\[}}0.346835822, -0.557202458, 0.210366562], [0, 0, 0], [-0.417901218, 0.0198193304, 0.398081899]]{{$}}
func.func @mean() -> tensor<3x3xf32> {
  %a = hone.constant dense<3.0> : tensor<f32>
  %b = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %c = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %d = hone.constant dense<[2.46436882, 1.09861231, 3.32656264]> : tensor<3xf32>
  %r = hone.cross_entropy_bwd mean %a, %b, %c, %d ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<3x3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: @label_smoothing
// CHECK-NEXT: result 0: tensor<3x3xf32> = {{\[\[}}0.147890553, -0.204801634, 0.0569110438], [0, 0, 0], [-0.111934148, -0.0701204464, 0.182054594]]{{$}}
func.func @label_smoothing() -> tensor<3x3xf32> {
  %a = hone.constant dense<1.0> : tensor<f32>
  %b = hone.constant dense<[[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [3.0, -1.0, 2.0]]> : tensor<3x3xf32>
  %c = hone.constant dense<[1, -100, 0]> : tensor<3xi64>
  %d = hone.constant dense<[2.46436882, 1.09861231, 3.32656264]> : tensor<3xf32>
  %r = hone.cross_entropy_bwd sum %a, %b, %c, %d ignore_index -100 label_smoothing 2.5e-01
      : (tensor<f32>, tensor<3x3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}
