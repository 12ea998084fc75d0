// RUN: hone-opt %s | FileCheck %s
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s

// CHECK-LABEL: @example
func.func @example(%x: tensor<2x16x64xf32>, %w: tensor<192x64xf32>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [2] x [1] : tensor<2x16x64xf32>,
  // CHECK-SAME: tensor<192x64xf32> -> tensor<2x16x192xf32>
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1]
      : tensor<2x16x64xf32>, tensor<192x64xf32> -> tensor<2x16x192xf32>
  return
}

// CHECK-LABEL: @batched
func.func @batched(%x: tensor<2x3x8x4xbf16>, %y: tensor<2x5x3x4xbf16>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x3x8x4xbf16>,
  // CHECK-SAME: tensor<2x5x3x4xbf16> -> tensor<2x3x8x5xf32>
  %z = hone.dot_general %x, %y batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x3x8x4xbf16>,
      tensor<2x5x3x4xbf16> -> tensor<2x3x8x5xf32>
  return
}

// CHECK-LABEL: @outer_product
func.func @outer_product(%x: tensor<3xf32>, %y: tensor<5xf32>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} batch [] x [] contract [] x [] : tensor<3xf32>, tensor<5xf32>
  // CHECK-SAME: -> tensor<3x5xf32>
  %z = hone.dot_general %x, %y batch [] x [] contract [] x [] : tensor<3xf32>, tensor<5xf32> -> tensor<3x5xf32>
  return
}

// CHECK-LABEL: @codes
func.func @codes(%x: tensor<32x64xf8E4M3FN>, %w: tensor<192x64xf8E4M3FN>, %sx: tensor<1x32xf32>,
                 %sw: tensor<2x4xf32>) {
  // CHECK: hone.dot_general %{{.+}}, %{{.+}} scales %{{.+}}, %{{.+}} tiles [1, 128] x [128, 128] batch [] x []
  // CHECK-SAME: contract [1] x [1] : tensor<32x64xf8E4M3FN>, tensor<192x64xf8E4M3FN>
  // CHECK-SAME: scales tensor<1x32xf32>, tensor<2x4xf32> -> tensor<32x192xbf16>
  %y = hone.dot_general %x, %w scales %sx, %sw tiles [1, 128] x [128, 128] batch [] x [] contract [1] x [1]
      : tensor<32x64xf8E4M3FN>, tensor<192x64xf8E4M3FN> scales tensor<1x32xf32>, tensor<2x4xf32>
      -> tensor<32x192xbf16>
  return
}

// CHECK-LABEL: @mixed_codes
func.func @mixed_codes(%x: tensor<32x64xf8E5M2>, %w: tensor<48x64xf8E4M3FN>, %s: tensor<f32>) {
  // CHECK: tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1] fast : tensor<32x64xf8E5M2>,
  %y = hone.dot_general %x, %w scales %s, %s tiles [0, 0] x [0, 0] batch [] x [] contract [1] x [1] fast
      : tensor<32x64xf8E5M2>, tensor<48x64xf8E4M3FN> scales tensor<f32>, tensor<f32> -> tensor<32x48xf32>
  return
}

// CHECK-LABEL: @marked
func.func @marked(%x: tensor<2x16x64xbf16>, %w: tensor<192x64xbf16>) {
  // CHECK: contract [2] x [1] quantized <block, activation x weight> : tensor<2x16x64xbf16>
  %y = hone.dot_general %x, %w batch [] x [] contract [2] x [1] quantized <block, activation x weight>
      : tensor<2x16x64xbf16>, tensor<192x64xbf16> -> tensor<2x16x192xbf16>
  return
}
