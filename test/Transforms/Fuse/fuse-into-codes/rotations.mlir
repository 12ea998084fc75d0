// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s

// A kernel that makes codes turns pairs of a rotation whose result nothing else reads, and reads what lies beside it.
// CHECK-LABEL: @beside
func.func @beside(%x: tensor<2x16x2x64xbf16>, %c: tensor<16x32xf32>, %s: tensor<16x32xf32>, %p: tensor<2x16x128xbf16>)
    -> (tensor<32x256xf8E4M3FN>, tensor<256x32xf8E4M3FN>) {
  // CHECK: hone.fused row
  // CHECK-DAG: %[[X:.+]] = hone.reshape %arg0 : tensor<2x16x2x64xbf16> -> tensor<32x128xbf16>
  // CHECK-DAG: %[[E:.+]] = hone.reshape %{{.+}} -> tensor<32x128xbf16>
  // CHECK: hone.fused data_movement (%[[A:.+]] = %[[X]] : tensor<32x128xbf16>, %[[C:.+]] = %arg1 : tensor<16x32xf32>, %[[S:.+]] = %arg2 : tensor<16x32xf32>, %[[B:.+]] = %{{.+}} : tensor<32x128xbf16>)
  // CHECK-NEXT: %[[H:.+]] = hone.reshape %[[A]] : tensor<32x128xbf16> -> tensor<2x16x2x64xbf16>
  // CHECK-NEXT: %[[R:.+]] = hone.rope half inverse %[[H]], %[[C]], %[[S]]
  // CHECK-NEXT: %[[M:.+]] = hone.reshape %[[R]] : tensor<2x16x2x64xbf16> -> tensor<32x128xbf16>
  // CHECK-NEXT: %[[W:.+]] = hone.concat %[[M]], %[[B]] dim 1
  // CHECK-NEXT: hone.quantize %[[W]] tile [1, 128] :
  // CHECK-NEXT: hone.quantize %[[W]] tile [1, 128] transposed
  // CHECK-NEXT: hone.yield
  // CHECK-NOT: hone.fused
  // CHECK: return
  %r = hone.rope half inverse %x, %c, %s : tensor<2x16x2x64xbf16>, tensor<16x32xf32>
  %m = hone.reshape %r : tensor<2x16x2x64xbf16> -> tensor<2x16x128xbf16>
  %k = hone.reduce max %p dims [2] : tensor<2x16x128xbf16> -> tensor<2x16xbf16>
  %kb = hone.broadcast %k dims [0, 1] : tensor<2x16xbf16> -> tensor<2x16x128xbf16>
  %n = hone.sub %p, %kb : tensor<2x16x128xbf16>
  %w = hone.concat %m, %n dim 2 : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<2x16x256xbf16>
  %v = hone.reshape %w : tensor<2x16x256xbf16> -> tensor<32x256xbf16>
  %a, %as = hone.quantize %v tile [1, 128] : tensor<32x256xbf16> -> tensor<32x256xf8E4M3FN>, tensor<2x32xf32>
  %b, %bs = hone.quantize %v tile [1, 128] transposed
      : tensor<32x256xbf16> -> tensor<256x32xf8E4M3FN>, tensor<1x256xf32>
  return %a, %b : tensor<32x256xf8E4M3FN>, tensor<256x32xf8E4M3FN>
}
