// RUN: hone-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @rounds_to_nearest_even
func.func @rounds_to_nearest_even() -> tensor<8xbf16> {
  // 1 + 2^-8 lies halfway between 1 and the next bf16.
  // CHECK: hone.constant dense<1.000000e+00> : tensor<8xbf16>
  %c = hone.constant dense<1.00390625> : tensor<8xf32>
  %0 = hone.cast %c : tensor<8xf32> -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// CHECK-LABEL: @truncates_toward_zero
func.func @truncates_toward_zero() -> tensor<8xi64> {
  // CHECK: hone.constant dense<-2> : tensor<8xi64>
  %c = hone.constant dense<-2.75> : tensor<8xf32>
  %0 = hone.cast %c : tensor<8xf32> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// CHECK-LABEL: @nan_is_true
func.func @nan_is_true() -> tensor<8xi1> {
  // CHECK: hone.constant dense<true> : tensor<8xi1>
  %c = hone.constant dense<0x7FC00000> : tensor<8xf32>
  %0 = hone.cast %c : tensor<8xf32> -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// CHECK-LABEL: @true_is_one
func.func @true_is_one() -> tensor<8xf32> {
  // CHECK: hone.constant dense<1.000000e+00> : tensor<8xf32>
  %c = hone.constant dense<true> : tensor<8xi1>
  %0 = hone.cast %c : tensor<8xi1> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @out_of_range_stays
func.func @out_of_range_stays() -> tensor<8xi8> {
  // CHECK: hone.cast
  %c = hone.constant dense<128.0> : tensor<8xf32>
  %0 = hone.cast %c : tensor<8xf32> -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// CHECK-LABEL: @nan_to_integer_stays
func.func @nan_to_integer_stays() -> tensor<8xi64> {
  // CHECK: hone.cast
  %c = hone.constant dense<0x7FC00000> : tensor<8xf32>
  %0 = hone.cast %c : tensor<8xf32> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// Rounding 2^53 + 1 to a double first would round twice.
// CHECK-LABEL: @wide_integer_stays
func.func @wide_integer_stays() -> tensor<8xf32> {
  // CHECK: hone.cast
  %c = hone.constant dense<9007199791611905> : tensor<8xi64>
  %0 = hone.cast %c : tensor<8xi64> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Only splats are folded: large constants are not copied.
// CHECK-LABEL: @elements_stay
func.func @elements_stay() -> tensor<2xf32> {
  // CHECK: hone.cast
  %c = hone.constant dense<[1, 2]> : tensor<2xi64>
  %0 = hone.cast %c : tensor<2xi64> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
