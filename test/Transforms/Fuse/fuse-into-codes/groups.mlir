// RUN: env MALLOC_PERTURB_=165 hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-into-codes))' | FileCheck %s

// Groups and views that hone-fuse-groups does not make. Memory is overwritten when it is freed.

// A view that is two parts is dropped once, with what it views.
// CHECK-LABEL: @twice
// CHECK-NEXT: hone.fused data_movement (%[[X:.+]] = %arg0 : tensor<32x128xbf16>, %[[Y:.+]] = %arg1 : tensor<32x128xbf16>)
// CHECK-NEXT: %[[E:.+]] = hone.exp %[[Y]]
// CHECK-NEXT: hone.concat %[[X]], %[[X]], %[[E]] dim 1
// CHECK: return
func.func @twice(%x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>) -> tensor<32x384xf8E4M3FN> {
  %r = hone.reshape %x : tensor<32x128xbf16> -> tensor<2x16x128xbf16>
  %e = hone.fused map (%a = %y : tensor<32x128xbf16>) -> tensor<32x128xbf16> {
    %v = hone.exp %a : tensor<32x128xbf16>
    hone.yield %v : tensor<32x128xbf16>
  }
  %w = hone.reshape %e : tensor<32x128xbf16> -> tensor<2x16x128xbf16>
  %c = hone.concat %r, %r, %w dim 2
      : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<2x16x384xbf16>
  %m = hone.reshape %c : tensor<2x16x384xbf16> -> tensor<32x384xbf16>
  %q = hone.fused data_movement (%a = %m : tensor<32x384xbf16>) -> tensor<32x384xf8E4M3FN> {
    %k, %s = hone.quantize %a tile [1, 128] : tensor<32x384xbf16> -> tensor<32x384xf8E4M3FN>, tensor<3x32xf32>
    hone.yield %k : tensor<32x384xf8E4M3FN>
  }
  return %q : tensor<32x384xf8E4M3FN>
}

// Kept apart: sums of a value, codes of a cast of it.
// CHECK-LABEL: @cast
// CHECK-NEXT: hone.fused row
// CHECK: hone.fused data_movement {{.*}} -> tensor<32x128xf8E4M3FN> {
// CHECK: return
func.func @cast(%x: tensor<32x128xbf16>) -> (tensor<128xf32>, tensor<32x128xf8E4M3FN>) {
  %s = hone.fused row (%a = %x : tensor<32x128xbf16>) -> tensor<128xf32> {
    %f = hone.cast %a : tensor<32x128xbf16> -> tensor<32x128xf32>
    %r = hone.reduce sum %f dims [0] : tensor<32x128xf32> -> tensor<128xf32>
    hone.yield %r : tensor<128xf32>
  }
  %c = hone.fused data_movement (%a = %x : tensor<32x128xbf16>) -> tensor<32x128xf8E4M3FN> {
    %h = hone.cast %a : tensor<32x128xbf16> -> tensor<32x128xf32>
    %q, %v = hone.quantize %h tile [1, 128] : tensor<32x128xf32> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
    hone.yield %q : tensor<32x128xf8E4M3FN>
  }
  return %s, %c : tensor<128xf32>, tensor<32x128xf8E4M3FN>
}
