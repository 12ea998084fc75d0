// RUN: hone-opt %s --canonicalize | FileCheck %s
// RUN: hone-opt %s --canonicalize | hone-run --compare %s - --args 7 --bitwise

// CHECK-LABEL: @same_type
// CHECK-SAME: (%[[X:.+]]: tensor<8xf32>)
func.func @same_type(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = hone.cast %x : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A round trip through a narrower type loses bits.
// CHECK-LABEL: @round_trip_stays
func.func @round_trip_stays(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-COUNT-2: hone.cast
  %0 = hone.cast %x : tensor<8xf32> -> tensor<8xbf16>
  %1 = hone.cast %0 : tensor<8xbf16> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Widening loses nothing, so what follows it may start from the narrow value; narrowing is a rounding that stays.
// CHECK-LABEL: @widened
// CHECK-SAME: %[[X:.+]]: tensor<8xbf16>, %[[Y:.+]]: tensor<8xf32>
func.func @widened(%x: tensor<8xbf16>, %y: tensor<8xf32>) -> (tensor<8xbf16>, tensor<8xf16>, tensor<8xf64>, tensor<8xf32>) {
  // CHECK-DAG: %[[HALF:.+]] = hone.cast %[[X]] : tensor<8xbf16> -> tensor<8xf16>
  // CHECK-DAG: %[[DOUBLE:.+]] = hone.cast %[[X]] : tensor<8xbf16> -> tensor<8xf64>
  // CHECK-DAG: %[[LOW:.+]] = hone.cast %[[Y]] : tensor<8xf32> -> tensor<8xbf16>
  // CHECK-DAG: %[[ROUNDED:.+]] = hone.cast %[[LOW]] : tensor<8xbf16> -> tensor<8xf32>
  // CHECK: return %[[X]], %[[HALF]], %[[DOUBLE]], %[[ROUNDED]]
  %wide = hone.cast %x : tensor<8xbf16> -> tensor<8xf32>
  %back = hone.cast %wide : tensor<8xf32> -> tensor<8xbf16>
  %half = hone.cast %wide : tensor<8xf32> -> tensor<8xf16>
  %double = hone.cast %wide : tensor<8xf32> -> tensor<8xf64>
  %low = hone.cast %y : tensor<8xf32> -> tensor<8xbf16>
  %rounded = hone.cast %low : tensor<8xbf16> -> tensor<8xf32>
  return %back, %half, %double, %rounded : tensor<8xbf16>, tensor<8xf16>, tensor<8xf64>, tensor<8xf32>
}
