// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @same_shape
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @same_shape(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.reshape %x : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @there_and_back(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.reshape %x : tensor<8x64xf32> -> tensor<512xf32>
  %1 = hone.reshape %0 : tensor<512xf32> -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// CHECK-LABEL: @chain
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xf32>)
func.func @chain(%x: tensor<8x64xf32>) -> (tensor<512xf32>, tensor<4x128xf32>) {
  // CHECK-DAG: %[[A:.+]] = hone.reshape %[[X]] : tensor<8x64xf32> -> tensor<512xf32>
  // CHECK-DAG: %[[B:.+]] = hone.reshape %[[X]] : tensor<8x64xf32> -> tensor<4x128xf32>
  // CHECK: return %[[A]], %[[B]]
  %0 = hone.reshape %x : tensor<8x64xf32> -> tensor<512xf32>
  %1 = hone.reshape %0 : tensor<512xf32> -> tensor<4x128xf32>
  return %0, %1 : tensor<512xf32>, tensor<4x128xf32>
}

// CHECK-LABEL: @splat
func.func @splat() -> tensor<2x4xf32> {
  // CHECK-NEXT: hone.constant dense<3.000000e+00> : tensor<2x4xf32>
  %c = hone.constant dense<3.0> : tensor<8xf32>
  %0 = hone.reshape %c : tensor<8xf32> -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @elements_stay
func.func @elements_stay() -> tensor<2x1xf32> {
  // CHECK: hone.reshape
  %c = hone.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hone.reshape %c : tensor<2xf32> -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// CHECK-LABEL: @empty_stays
func.func @empty_stays() -> tensor<2x0xf32> {
  // CHECK: hone.reshape
  %c = hone.constant dense<> : tensor<0x4xf32>
  %0 = hone.reshape %c : tensor<0x4xf32> -> tensor<2x0xf32>
  return %0 : tensor<2x0xf32>
}
