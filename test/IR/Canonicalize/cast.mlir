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
