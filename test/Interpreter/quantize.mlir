// RUN: hone-run --eval %s | FileCheck %s

// amax 3.5 = 1.75 * 2^1: e is 1 - 8. Halfway between codes goes to the even one.
// CHECK-LABEL: @one_scale
// CHECK-NEXT: result 0: tensor<f32> = 3.5
// CHECK-NEXT: result 1: tensor<2x4xf8E4M3FN> = {{\[\[}}448, -128, 0, 0.001953125], [128, 128, 144, -0]]
// CHECK-NEXT: result 2: tensor<f32> = 0.0078125
func.func @one_scale() -> (tensor<f32>, tensor<2x4xf8E4M3FN>, tensor<f32>) {
  %x = hone.constant dense<[[3.5, -1.0, 0.0, 0.0000152587890625], [1.0625, 1.03125, 1.09375, -0.0000000001]]> : tensor<2x4xf32>
  %a = hone.amax %x : tensor<2x4xf32>
  %c, %s = hone.quantize %x amax %a tile [0, 0] : tensor<2x4xf32> -> tensor<2x4xf8E4M3FN>, tensor<f32>
  return %a, %c, %s : tensor<f32>, tensor<2x4xf8E4M3FN>, tensor<f32>
}

// What is smaller than the operand's largest saturates; a little above 3.5 the exponent is one more.
// CHECK-LABEL: @saturated
// CHECK-NEXT: result 0: tensor<1x2xf8E4M3FN> = {{\[\[}}448, -448]]
// CHECK-NEXT: result 1: tensor<1x2xf8E5M2> = {{\[\[}}57344, -57344]]
// CHECK-NEXT: result 2: tensor<f32> = 0.015625
func.func @saturated() -> (tensor<1x2xf8E4M3FN>, tensor<1x2xf8E5M2>, tensor<f32>) {
  %x = hone.constant dense<[[8.0, -1000.0]]> : tensor<1x2xf32>
  %a = hone.constant dense<1.0> : tensor<f32>
  %b = hone.constant dense<3.515625> : tensor<f32>
  %c, %s = hone.quantize %x amax %a tile [0, 0] : tensor<1x2xf32> -> tensor<1x2xf8E4M3FN>, tensor<f32>
  %d, %t = hone.quantize %x amax %a tile [0, 0] : tensor<1x2xf32> -> tensor<1x2xf8E5M2>, tensor<f32>
  %e, %u = hone.quantize %x amax %b tile [0, 0] : tensor<1x2xf32> -> tensor<1x2xf8E4M3FN>, tensor<f32>
  return %c, %d, %u : tensor<1x2xf8E4M3FN>, tensor<1x2xf8E5M2>, tensor<f32>
}

// A row that is 0 has scale 1. Infinity and NaN make their row's scale a NaN, and leave other rows alone.
// CHECK-LABEL: @not_finite
// CHECK-NEXT: result 0: tensor<4x2xf8E4M3FN> = {{\[\[}}0, 0], [448, 2], [nan, 2], [256, 128]]
// CHECK-NEXT: result 1: tensor<1x4xf32> = {{\[\[}}1, nan, nan, 0.0078125]]
// CHECK-NEXT: result 2: tensor<512xi8> = [127, 0, 0, 0, 0,
// CHECK-SAME: 0, -1, 0,
// CHECK-SAME: 0, 0, -1, 0,
// CHECK-SAME: 0, 0, 120, 0,
func.func @not_finite() -> (tensor<4x2xf8E4M3FN>, tensor<1x4xf32>, tensor<512xi8>) {
  %x = hone.constant dense<[[0.0, 0.0], [0x7F800000, 2.0], [0x7FC00000, 2.0], [2.0, 1.0]]> : tensor<4x2xf32>
  %c, %s = hone.quantize %x tile [1, 128] : tensor<4x2xf32> -> tensor<4x2xf8E4M3FN>, tensor<1x4xf32>
  %d, %t = hone.quantize %x tile [1, 32] : tensor<4x2xf32> -> tensor<4x2xf8E4M3FN>, tensor<512xi8>
  return %c, %s, %t : tensor<4x2xf8E4M3FN>, tensor<1x4xf32>, tensor<512xi8>
}

// Columns 0 and 1 of the operand are rows of codes. One scale per column, or one for all.
// CHECK-LABEL: @transposed
// CHECK-NEXT: result 0: tensor<2x3xf8E4M3FN> = {{\[\[}}128, 192, 256], [256, 320, 384]]
// CHECK-NEXT: result 1: tensor<1x2xf32> = {{\[\[}}0.0078125, 0.0625]]
// CHECK-NEXT: result 2: tensor<2x3xf8E4M3FN> = {{\[\[}}16, 24, 32], [256, 320, 384]]
// CHECK-NEXT: result 3: tensor<1x4xf32> = {{\[\[}}0.0625, 0, 0, 0]]
func.func @transposed() -> (tensor<2x3xf8E4M3FN>, tensor<1x2xf32>, tensor<2x3xf8E4M3FN>, tensor<1x4xf32>) {
  %x = hone.constant dense<[[1.0, 16.0], [1.5, 20.0], [2.0, 24.0]]> : tensor<3x2xbf16>
  %c, %s = hone.quantize %x tile [1, 128] transposed : tensor<3x2xbf16> -> tensor<2x3xf8E4M3FN>, tensor<1x2xf32>
  %d, %t = hone.quantize %x tile [128, 128] transposed : tensor<3x2xbf16> -> tensor<2x3xf8E4M3FN>, tensor<1x4xf32>
  return %c, %s, %d, %t : tensor<2x3xf8E4M3FN>, tensor<1x2xf32>, tensor<2x3xf8E4M3FN>, tensor<1x4xf32>
}

// Rows of x have scales of their own; all numbers are codes times scales.
// CHECK-LABEL: @product
// CHECK-NEXT: result 0: tensor<2x2xf8E4M3FN> = {{\[\[}}128, 256], [256, 448]]
// CHECK-NEXT: result 1: tensor<1x2xf32> = {{\[\[}}0.0078125, 0.03125]]
// CHECK-NEXT: result 2: tensor<2x1xf32> = {{\[\[}}14], [102]]
func.func @product() -> (tensor<2x2xf8E4M3FN>, tensor<1x2xf32>, tensor<2x1xf32>) {
  %x = hone.constant dense<[[1.0, 2.0], [8.0, 14.0]]> : tensor<2x2xf32>
  %w = hone.constant dense<[[4.0, 5.0]]> : tensor<1x2xf32>
  %c, %s = hone.quantize %x tile [1, 128] : tensor<2x2xf32> -> tensor<2x2xf8E4M3FN>, tensor<1x2xf32>
  %d, %t = hone.quantize %w tile [128, 128] : tensor<1x2xf32> -> tensor<1x2xf8E4M3FN>, tensor<1x4xf32>
  %y = hone.dot_general %c, %d scales %s, %t tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<2x2xf8E4M3FN>, tensor<1x2xf8E4M3FN> scales tensor<1x2xf32>, tensor<1x4xf32> -> tensor<2x1xf32>
  return %c, %s, %y : tensor<2x2xf8E4M3FN>, tensor<1x2xf32>, tensor<2x1xf32>
}

// A scale that is a NaN reaches its row of the result, though the codes are 0.
// CHECK-LABEL: @nan_scale
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}nan], [1]]
func.func @nan_scale() -> tensor<2x1xf32> {
  %x = hone.constant dense<[[0.0, 0x7F800000], [1.0, 0.0]]> : tensor<2x2xf32>
  %w = hone.constant dense<[[1.0, 0.0]]> : tensor<1x2xf32>
  %c, %s = hone.quantize %x tile [1, 32] : tensor<2x2xf32> -> tensor<2x2xf8E4M3FN>, tensor<512xi8>
  %d, %t = hone.quantize %w tile [1, 32] : tensor<1x2xf32> -> tensor<1x2xf8E4M3FN>, tensor<512xi8>
  %y = hone.dot_general %c, %d scales %s, %t tiles [1, 32] x [1, 32] batch [] x [] contract [1] x [1]
      : tensor<2x2xf8E4M3FN>, tensor<1x2xf8E4M3FN> scales tensor<512xi8>, tensor<512xi8> -> tensor<2x1xf32>
  return %y : tensor<2x1xf32>
}
