// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @bare
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}0.875, 0.125, 0.75]]{{$}}
func.func @bare() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[2.0, 1.0, 1.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[1.0, 3.0, -2.0]]> : tensor<1x3xf32>
  %c = hone.constant dense<[0.5]> : tensor<1xf32>
  %r = hone.rms_norm_bwd %a, %b, %c : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1xf32>) -> tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}

// CHECK-LABEL: @scale
// CHECK-NEXT: result 0: tensor<1x3xf32> = {{\[\[}}2.29166675, 0.375, 1.41666663]]{{$}}
func.func @scale() -> tensor<1x3xf32> {
  %a = hone.constant dense<[[2.0, 1.0, 1.0]]> : tensor<1x3xf32>
  %b = hone.constant dense<[[1.0, 3.0, -2.0]]> : tensor<1x3xf32>
  %c = hone.constant dense<[0.5]> : tensor<1xf32>
  %d = hone.constant dense<[2.0, -1.0, 4.0]> : tensor<3xf32>
  %r = hone.rms_norm_bwd %a, %b, %c scale %d
      : (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}
