// RUN: hone-opt %s --hone-autodiff | FileCheck %s

// Both gradient products of a marked product are marked, with the roles of their operands.
// CHECK-LABEL: func.func @gradient
func.func @forward(%x: tensor<32x64xbf16> {hone.kind = "param", hone.fqn = "x", hone.requires_grad},
                   %w: tensor<48x64xbf16> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
                   %v: tensor<16x48xbf16> {hone.kind = "param", hone.fqn = "v", hone.requires_grad})
    -> (tensor<f32> {hone.kind = "loss"}) {
  // CHECK: quantized <block, activation x weight>
  %y = hone.dot_general %x, %w batch [] x [] contract [1] x [1] quantized <block, activation x weight>
      : tensor<32x64xbf16>, tensor<48x64xbf16> -> tensor<32x48xbf16>
  // CHECK: quantized <block, weight x activation>
  %z = hone.dot_general %v, %y batch [] x [] contract [1] x [1] quantized <block, weight x activation>
      : tensor<16x48xbf16>, tensor<32x48xbf16> -> tensor<16x32xbf16>
  %c = hone.cast %z : tensor<16x32xbf16> -> tensor<16x32xf32>
  %l = hone.reduce sum %c dims [0, 1] : tensor<16x32xf32> -> tensor<f32>
  // CHECK-DAG: quantized <block, gradient x activation> : tensor<16x32xbf16>, tensor<32x48xbf16> -> tensor<16x48xbf16>
  // CHECK-DAG: quantized <block, gradient x weight> : tensor<16x32xbf16>, tensor<16x48xbf16> -> tensor<32x48xbf16>
  // CHECK-DAG: quantized <block, gradient x weight> : tensor<32x48xbf16>, tensor<48x64xbf16> -> tensor<32x64xbf16>
  // CHECK-DAG: quantized <block, gradient x activation> : tensor<32x48xbf16>, tensor<32x64xbf16> -> tensor<48x64xbf16>
  return %l : tensor<f32>
}
