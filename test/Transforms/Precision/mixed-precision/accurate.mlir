// Functions that lose their argument's accuracy, and sums, read f32; a value rounded before is widened once for them.
// RUN: hone-opt %s --hone-mixed-precision=policy=fp16 --canonicalize --hone-verify-precision | FileCheck %s

// CHECK-LABEL: @forward
func.func @forward(
    %w: tensor<4x6xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %x: tensor<8x4xf32> {hone.kind = "input", hone.fqn = "x"},
    %wide: tensor<8x4xf64> {hone.kind = "input", hone.fqn = "wide"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // CHECK: %[[Y:.+]] = hone.dot_general {{.*}} -> tensor<8x6xf16>
  // CHECK: %[[YW:.+]] = hone.cast %[[Y]] : tensor<8x6xf16> -> tensor<8x6xf32>
  // CHECK-NOT: hone.cast %[[Y]]
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK: hone.exp %[[YW]] : tensor<8x6xf32>
  %e = hone.exp %y : tensor<8x6xf32>
  // CHECK: hone.softmax %[[YW]] : tensor<8x6xf32>
  %p = hone.softmax %y : tensor<8x6xf32>
  // CHECK: %[[NEG:.+]] = hone.neg %[[Y]] : tensor<8x6xf16>
  %n = hone.neg %y : tensor<8x6xf32>
  // Comparisons read what there is.
  // CHECK: hone.cmp gt, %[[NEG]], %{{.+}} : tensor<8x6xf16> -> tensor<8x6xi1>
  %zero = hone.constant dense<0.0> : tensor<8x6xf32>
  %c = hone.cmp gt, %n, %zero : tensor<8x6xf32> -> tensor<8x6xi1>
  %sel = hone.select %c, %e, %p : tensor<8x6xi1>, tensor<8x6xf32>
  %a = hone.reduce sum %sel dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  // f64 is left alone.
  // CHECK: hone.cast %arg0 : tensor<4x6xf32> -> tensor<4x6xf64>
  // CHECK: hone.dot_general %arg2, %{{.+}} : tensor<8x4xf64>, tensor<4x6xf64> -> tensor<8x6xf64>
  %w64 = hone.cast %w : tensor<4x6xf32> -> tensor<4x6xf64>
  %y64 = hone.dot_general %wide, %w64 batch [] x [] contract [1] x [0]
      : tensor<8x4xf64>, tensor<4x6xf64> -> tensor<8x6xf64>
  %s64 = hone.reduce sum %y64 dims [0, 1] : tensor<8x6xf64> -> tensor<f64>
  %b = hone.cast %s64 : tensor<f64> -> tensor<f32>
  %loss = hone.add %a, %b : tensor<f32>
  return %loss : tensor<f32>
}
