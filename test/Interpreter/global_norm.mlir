// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @two_tensors
// CHECK-NEXT: result 0: tensor<f32> = 3{{$}}
func.func @two_tensors() -> tensor<f32> {
  %a = hone.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %b = hone.constant dense<[-2.0]> : tensor<1xf32>
  %r = hone.global_norm %a, %b : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @empty_operand
// CHECK-NEXT: result 0: tensor<f32> = 4{{$}}
func.func @empty_operand() -> tensor<f32> {
  %a = hone.constant dense<> : tensor<0xf32>
  %b = hone.constant dense<[-4.0]> : tensor<1xf32>
  %r = hone.global_norm %a, %b : (tensor<0xf32>, tensor<1xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// Accumulated wider than single precision.
// CHECK-LABEL: @squares_do_not_overflow
// CHECK-NEXT: result 0: tensor<f32> = 4.99999992e+30{{$}}
func.func @squares_do_not_overflow() -> tensor<f32> {
  %a = hone.constant dense<[3.0e+30, 4.0e+30]> : tensor<2xf32>
  %r = hone.global_norm %a : (tensor<2xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @nan
// CHECK-NEXT: result 0: tensor<f32> = nan{{$}}
func.func @nan() -> tensor<f32> {
  %a = hone.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %r = hone.global_norm %a : (tensor<2xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
