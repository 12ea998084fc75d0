// Attention reads low queries, keys and values; its statistics, an additive mask and tables of angles stay f32. Cross
// entropy reads low logits: they are the largest value there is, and it widens them in its kernel.
// RUN: hone-opt %s --hone-mixed-precision=policy=bf16 --canonicalize --cse --hone-verify-precision | FileCheck %s

// CHECK-LABEL: @forward
func.func @forward(
    %w: tensor<8x24xf32> {hone.kind = "param", hone.fqn = "w", hone.requires_grad},
    %head: tensor<11x8xf32> {hone.kind = "param", hone.fqn = "head", hone.requires_grad},
    %mask: tensor<1x1x3x3xf32> {hone.kind = "buffer", hone.fqn = "mask"},
    %t: tensor<2x3xi64> {hone.kind = "input", hone.fqn = "t"}) -> (tensor<f32> {hone.kind = "loss"}) {
  // No parameter has a part in these angles: not even their contraction is low.
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} : tensor<3xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %i = hone.iota dim 0 : tensor<3xf32>
  %f = hone.constant dense<[1.0, 0.01]> : tensor<2xf32>
  %angles = hone.dot_general %i, %f batch [] x [] contract [] x [] : tensor<3xf32>, tensor<2xf32> -> tensor<3x2xf32>
  // CHECK: %[[COS:.+]] = hone.cos %{{.+}} : tensor<3x2xf32>
  %cos = hone.cos %angles : tensor<3x2xf32>
  %sin = hone.sin %angles : tensor<3x2xf32>
  // The lookup of a tied table reads the f32 rows.
  // CHECK: %[[X:.+]] = hone.embedding %arg1, %arg3 : tensor<11x8xf32>
  %x = hone.embedding %head, %t : tensor<11x8xf32>, tensor<2x3xi64> -> tensor<2x3x8xf32>
  %qkv = hone.dot_general %x, %w batch [] x [] contract [2] x [0]
      : tensor<2x3x8xf32>, tensor<8x24xf32> -> tensor<2x3x24xf32>
  %q0 = hone.slice %qkv [0, 0, 0] to [2, 3, 8] by [1, 1, 1] : tensor<2x3x24xf32> -> tensor<2x3x8xf32>
  %k0 = hone.slice %qkv [0, 0, 8] to [2, 3, 16] by [1, 1, 1] : tensor<2x3x24xf32> -> tensor<2x3x8xf32>
  %v0 = hone.slice %qkv [0, 0, 16] to [2, 3, 24] by [1, 1, 1] : tensor<2x3x24xf32> -> tensor<2x3x8xf32>
  %q = hone.reshape %q0 : tensor<2x3x8xf32> -> tensor<2x3x2x4xf32>
  %k = hone.reshape %k0 : tensor<2x3x8xf32> -> tensor<2x3x2x4xf32>
  %v = hone.reshape %v0 : tensor<2x3x8xf32> -> tensor<2x3x2x4xf32>
  // CHECK: %[[QR:.+]] = hone.rope half %{{.+}}, %[[COS]], %{{.+}} : tensor<2x3x2x4xbf16>, tensor<3x2xf32>
  %qr = hone.rope half %q, %cos, %sin : tensor<2x3x2x4xf32>, tensor<3x2xf32>
  // CHECK: %{{.+}}, %{{.+}} = hone.attention %[[QR]], %{{.+}}, %{{.+}} mask %arg2
  // CHECK-SAME: tensor<1x1x3x3xf32>) -> (tensor<2x3x2x4xbf16>, tensor<2x2x3xf32>)
  %o, %lse = hone.attention %qr, %k, %v mask %mask scale 0.5
      : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<1x1x3x3xf32>)
      -> (tensor<2x3x2x4xf32>, tensor<2x2x3xf32>)
  %flat = hone.reshape %o : tensor<2x3x2x4xf32> -> tensor<6x8xf32>
  // CHECK: %[[LOGITS:.+]] = hone.dot_general {{.*}} -> tensor<6x11xbf16>
  %logits = hone.dot_general %flat, %head batch [] x [] contract [1] x [1]
      : tensor<6x8xf32>, tensor<11x8xf32> -> tensor<6x11xf32>
  %targets = hone.reshape %t : tensor<2x3xi64> -> tensor<6xi64>
  // CHECK: hone.cross_entropy mean %[[LOGITS]], %{{.+}} : tensor<6x11xbf16>, tensor<6xi64>
  // CHECK-SAME: -> tensor<f32>, tensor<6xf32>
  %loss, %lse2 = hone.cross_entropy mean %logits, %targets ignore_index -100 label_smoothing 0.0
      : tensor<6x11xf32>, tensor<6xi64> -> tensor<f32>, tensor<6xf32>
  return %loss : tensor<f32>
}
