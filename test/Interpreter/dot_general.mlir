// RUN: hone-run --eval %s | FileCheck %s

// CHECK-LABEL: @matrix_product
// CHECK-NEXT: result 0: tensor<2x2xf32> = {{\[\[}}6.5, 7], [11, -23]]{{$}}
func.func @matrix_product() -> tensor<2x2xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]> : tensor<3x2xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: @transposed_weight
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}9], [-3]]{{$}}
func.func @transposed_weight() -> tensor<2x1xf32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[[1.0, 1.0, 2.0]]> : tensor<1x3xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [1] : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}

// CHECK-LABEL: @batch
// CHECK-NEXT: result 0: tensor<2x1x1xf32> = {{\[\[\[}}17]], {{\[\[}}53]]]{{$}}
func.func @batch() -> tensor<2x1x1xf32> {
  %a = hone.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %b = hone.constant dense<[[[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<2x2x1xf32>
  %r = hone.dot_general %a, %b batch [0] x [0] contract [2] x [1] : tensor<2x1x2xf32>, tensor<2x2x1xf32> -> tensor<2x1x1xf32>
  return %r : tensor<2x1x1xf32>
}

// CHECK-LABEL: @two_contracted_in_any_order
// CHECK-NEXT: result 0: tensor<f32> = -16.5{{$}}
func.func @two_contracted_in_any_order() -> tensor<f32> {
  %a = hone.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf32>
  %b = hone.constant dense<[[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]> : tensor<3x2xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [0, 1] x [1, 0] : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @outer
// CHECK-NEXT: result 0: tensor<2x3xf32> = {{\[\[}}3, 4, 5], [6, 8, 10]]{{$}}
func.func @outer() -> tensor<2x3xf32> {
  %a = hone.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hone.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [] x [] : tensor<2xf32>, tensor<3xf32> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: @empty_sum
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}0], [0]]{{$}}
func.func @empty_sum() -> tensor<2x1xf32> {
  %a = hone.constant dense<> : tensor<2x0xf32>
  %b = hone.constant dense<> : tensor<0x1xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<2x0xf32>, tensor<0x1xf32> -> tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}

// CHECK-LABEL: @nothing_leaks_across_rows
// CHECK-NEXT: result 0: tensor<2x1xf32> = {{\[\[}}nan], [2]]{{$}}
func.func @nothing_leaks_across_rows() -> tensor<2x1xf32> {
  %a = hone.constant dense<[[0x7FC00000, 1.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %b = hone.constant dense<[[1.0], [1.0]]> : tensor<2x1xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<2x2xf32>, tensor<2x1xf32> -> tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}

// CHECK-LABEL: @zero_times_infinity
// CHECK-NEXT: result 0: tensor<1x1xf32> = {{\[\[}}nan]]{{$}}
func.func @zero_times_infinity() -> tensor<1x1xf32> {
  %a = hone.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32>
  %b = hone.constant dense<[[0x7F800000], [1.0]]> : tensor<2x1xf32>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1x2xf32>, tensor<2x1xf32> -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}

// CHECK-LABEL: @low_precision_accumulates_wide
// CHECK-NEXT: result 0: tensor<1x1xf32> = {{\[\[}}258]]{{$}}
func.func @low_precision_accumulates_wide() -> tensor<1x1xf32> {
  %a = hone.constant dense<[[256.0, 1.0, 1.0]]> : tensor<1x3xbf16>
  %b = hone.constant dense<[[1.0], [1.0], [1.0]]> : tensor<3x1xbf16>
  %r = hone.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<1x3xbf16>, tensor<3x1xbf16> -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}
