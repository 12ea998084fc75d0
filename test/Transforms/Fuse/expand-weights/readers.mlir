// RUN: hone-opt %s --hone-expand-weights | FileCheck %s
// RUN: hone-opt %s --hone-expand-weights | hone-run --compare %s - --args 7 --bitwise

// Each product has its own values, right before it; the transpose goes with them.
// CHECK-LABEL: @codes
func.func @codes(%c: tensor<6x4xi8> {hone.kind = "param"}, %s: tensor<6x1xf32> {hone.kind = "param"},
                 %x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  // CHECK-NEXT: hone.dequantize nf4 {{.*}} {hone.clone}
  // CHECK-NEXT: hone.transpose {{.*}} {hone.clone}
  // CHECK-NEXT: hone.dot_general
  // CHECK-NEXT: hone.tanh
  // CHECK-NEXT: hone.dequantize nf4 {{.*}} {hone.clone}
  // CHECK-NEXT: hone.dot_general
  // CHECK-NEXT: return
  %w = hone.dequantize nf4 %c scales %s block 8 : tensor<6x4xi8>, tensor<6x1xf32> -> tensor<6x8xf32>
  %t = hone.transpose %w [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %y = hone.dot_general %x, %t batch [] x [] contract [1] x [0] : tensor<5x8xf32>, tensor<8x6xf32> -> tensor<5x6xf32>
  %z = hone.tanh %y : tensor<5x6xf32>
  %r = hone.dot_general %z, %w batch [] x [] contract [1] x [0] : tensor<5x6xf32>, tensor<6x8xf32> -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}

// Rows are picked from the narrow table, then widened.
// CHECK-LABEL: @table
func.func @table(%t: tensor<9x4xbf16> {hone.kind = "param"}, %i: tensor<3xi64> {hone.vocab = 9 : i64}) -> tensor<3x4xf32> {
  // CHECK-NEXT: hone.embedding {{.*}} -> tensor<3x4xbf16>
  // CHECK-NEXT: hone.cast {{.*}} tensor<3x4xbf16> -> tensor<3x4xf32>
  // CHECK-NEXT: return
  %w = hone.cast %t : tensor<9x4xbf16> -> tensor<9x4xf32>
  %r = hone.embedding %w, %i : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// What is trained, or narrowed, stays as it is.
// CHECK-LABEL: @others
// CHECK-NOT: hone.clone
func.func @others(%a: tensor<4xbf16> {hone.kind = "param", hone.requires_grad}, %b: tensor<4xf32> {hone.kind = "param"},
                  %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>) {
  %0 = hone.cast %a : tensor<4xbf16> -> tensor<4xf32>
  %1 = hone.add %x, %0 : tensor<4xf32>
  %2 = hone.mul %x, %0 : tensor<4xf32>
  %3 = hone.cast %b : tensor<4xf32> -> tensor<4xbf16>
  %4 = hone.neg %3 : tensor<4xbf16>
  return %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>
}
