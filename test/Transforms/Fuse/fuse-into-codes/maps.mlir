// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s

// A kernel that makes codes computes the map before it, whose result nothing else reads. Its ops work on matrices; parts
// of wider rows are read where they lie.
// CHECK-LABEL: @gate
func.func @gate(%gu: tensor<32x256xbf16>)
    -> (tensor<32x128xf8E4M3FN>, tensor<1x32xf32>, tensor<128x32xf8E4M3FN>, tensor<1x128xf32>) {
  // CHECK: %[[G:.+]] = hone.slice %arg0 [0, 0] to [32, 128]
  // CHECK: %[[U:.+]] = hone.slice %arg0 [0, 128] to [32, 256]
  // CHECK: hone.fused data_movement (%[[A:.+]] = %[[G]] : tensor<32x128xbf16>, %[[B:.+]] = %[[U]] : tensor<32x128xbf16>)
  // CHECK-NEXT: %[[L:.+]] = hone.logistic %[[A]] : tensor<32x128xbf16>
  // CHECK-NEXT: hone.constant dense<5.000000e-01> : tensor<32x128xbf16>
  // CHECK-NEXT: hone.mul %[[L]]
  // CHECK-NEXT: %[[S:.+]] = hone.mul
  // CHECK-NEXT: hone.quantize %[[S]] tile [1, 128] :
  // CHECK-NEXT: hone.quantize %[[S]] tile [1, 128] transposed
  // CHECK-NEXT: hone.yield
  // CHECK-NOT: hone.fused
  %x = hone.reshape %gu : tensor<32x256xbf16> -> tensor<2x16x256xbf16>
  %g = hone.slice %x [0, 0, 0] to [2, 16, 128] by [1, 1, 1] : tensor<2x16x256xbf16> -> tensor<2x16x128xbf16>
  %u = hone.slice %x [0, 0, 128] to [2, 16, 256] by [1, 1, 1] : tensor<2x16x256xbf16> -> tensor<2x16x128xbf16>
  %half = hone.constant dense<5.000000e-01> : tensor<2x16x128xbf16>
  %l = hone.logistic %g : tensor<2x16x128xbf16>
  %h = hone.mul %l, %half : tensor<2x16x128xbf16>
  %s = hone.mul %h, %u : tensor<2x16x128xbf16>
  %r = hone.reshape %s : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  %a, %sa = hone.quantize %r tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %b, %sb = hone.quantize %r tile [1, 128] transposed
      : tensor<32x128xbf16> -> tensor<128x32xf8E4M3FN>, tensor<1x128xf32>
  return %a, %sa, %b, %sb : tensor<32x128xf8E4M3FN>, tensor<1x32xf32>, tensor<128x32xf8E4M3FN>, tensor<1x128xf32>
}

// Two results of one map, side by side.
// CHECK-LABEL: @gate_bwd
func.func @gate_bwd(%d: tensor<32x128xbf16>, %g: tensor<32x128xbf16>, %u: tensor<32x128xbf16>)
    -> tensor<256x32xf8E4M3FN> {
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.mul
  // CHECK-NEXT: hone.mul
  // CHECK-NEXT: %[[X:.+]] = hone.concat %{{.+}}, %{{.+}} dim 1
  // CHECK-NEXT: hone.quantize %[[X]] tile [1, 128] transposed
  // CHECK-NOT: hone.fused
  %a = hone.mul %d, %u : tensor<32x128xbf16>
  %b = hone.mul %d, %g : tensor<32x128xbf16>
  %x = hone.concat %a, %b dim 1 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x256xbf16>
  %c, %s = hone.quantize %x tile [1, 128] transposed
      : tensor<32x256xbf16> -> tensor<256x32xf8E4M3FN>, tensor<1x256xf32>
  return %c : tensor<256x32xf8E4M3FN>
}

// Kept apart: another reader of the map; parts that a tile of a row would mix.
// CHECK-LABEL: @apart
// CHECK: hone.fused map
// CHECK: hone.exp
// CHECK: hone.fused map
// CHECK: hone.exp
// CHECK: hone.tanh
func.func @apart(%x: tensor<32x128xbf16>, %y: tensor<32x80xbf16>)
    -> (tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>, tensor<32x160xf8E4M3FN>) {
  %a = hone.exp %x : tensor<32x128xbf16>
  %ca, %sa = hone.quantize %a tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %l = hone.exp %y : tensor<32x80xbf16>
  %r = hone.tanh %y : tensor<32x80xbf16>
  %c = hone.concat %l, %r dim 1 : (tensor<32x80xbf16>, tensor<32x80xbf16>) -> tensor<32x160xbf16>
  %cc, %sc = hone.quantize %c tile [1, 128] : tensor<32x160xbf16> -> tensor<32x160xf8E4M3FN>, tensor<2x32xf32>
  return %a, %ca, %cc : tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>, tensor<32x160xf8E4M3FN>
}
