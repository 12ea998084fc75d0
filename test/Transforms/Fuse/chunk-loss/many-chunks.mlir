// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-chunk-loss{chunk=64}, \
// RUN:   hone-decompose-rows,canonicalize,cse,hone-recompute-maps,hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// 16 chunks have more row ops than are searched at once, all ready at the same time, and share masks and the labels.
// Each is one kernel still: logits are read once, and nothing of their size is written but their gradient.

// CHECK-LABEL: func.func @many(
// CHECK-NOT:   hone.fused map
// CHECK-COUNT-16: hone.fused row (%{{.*}} = %{{.*}} : tensor<64x520xbf16>, {{.*}}) -> (tensor<64xf32>, tensor<64x520xbf16>)
// CHECK-NOT:   hone.fused {{row|map}} ({{.*}}x520x
// CHECK:       return
func.func @many(%x: tensor<1024x64xbf16>, %w: tensor<520x64xbf16>, %t: tensor<1024xi64>)
    -> (tensor<f32>, tensor<1024x64xbf16>, tensor<520x64xf32>) {
  %g = hone.constant dense<1.0> : tensor<f32>
  %scores = hone.dot_general %x, %w batch [] x [] contract [1] x [1]
      : tensor<1024x64xbf16>, tensor<520x64xbf16> -> tensor<1024x520xbf16>
  %wide = hone.cast %scores : tensor<1024x520xbf16> -> tensor<1024x520xf32>
  %n = hone.iota dim 1 : tensor<1024x520xi32>
  %end = hone.constant dense<513> : tensor<1024x520xi32>
  %in = hone.cmp lt, %n, %end : tensor<1024x520xi32> -> tensor<1024x520xi1>
  %low = hone.constant dense<0xFF800000> : tensor<1024x520xf32>
  %logits = hone.select %in, %wide, %low : tensor<1024x520xi1>, tensor<1024x520xf32>
  %loss, %lse = hone.cross_entropy mean %logits, %t ignore_index -100 label_smoothing 0.0
      : tensor<1024x520xf32>, tensor<1024xi64> -> tensor<f32>, tensor<1024xf32>
  %d = hone.cross_entropy_bwd mean %g, %logits, %t, %lse ignore_index -100 label_smoothing 0.0
      : (tensor<f32>, tensor<1024x520xf32>, tensor<1024xi64>, tensor<1024xf32>) -> tensor<1024x520xf32>
  %zero = hone.constant dense<0.0> : tensor<1024x520xf32>
  %masked = hone.select %in, %d, %zero : tensor<1024x520xi1>, tensor<1024x520xf32>
  %narrow = hone.cast %masked : tensor<1024x520xf32> -> tensor<1024x520xbf16>
  %dx = hone.dot_general %narrow, %w batch [] x [] contract [1] x [0]
      : tensor<1024x520xbf16>, tensor<520x64xbf16> -> tensor<1024x64xbf16>
  %dw = hone.dot_general %narrow, %x batch [] x [] contract [0] x [0]
      : tensor<1024x520xbf16>, tensor<1024x64xbf16> -> tensor<520x64xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<1024x64xbf16>, tensor<520x64xf32>
}
