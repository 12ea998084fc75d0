// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' | FileCheck %s

// A kernel reads a matrix once and writes its codes along rows and along columns. One scale per tensor waits for
// the largest magnitude.
// CHECK-LABEL: func.func @both
// CHECK: hone.fused data_movement
// CHECK: hone.amax
// CHECK: hone.fused data_movement
// CHECK-NOT: hone.fused
// CHECK: hone.quantize %{{.+}} tile [1, 128] :
// CHECK-NOT: hone.fused
// CHECK: hone.quantize %{{.+}} tile [1, 128] transposed
// CHECK: hone.fused data_movement
// CHECK: hone.quantize
// CHECK-NOT: hone.fused
// CHECK: hone.quantize
// CHECK-NOT: hone.fused
func.func @both(%x: tensor<256x128xbf16>)
    -> (tensor<256x128xf8E4M3FN>, tensor<1x256xf32>, tensor<128x256xf8E4M3FN>, tensor<2x128xf32>,
        tensor<256x128xf8E4M3FN>, tensor<f32>, tensor<128x256xf8E5M2>, tensor<f32>) {
  %c, %s = hone.quantize %x tile [1, 128] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<1x256xf32>
  %a = hone.amax %x : tensor<256x128xbf16>
  %e, %f = hone.quantize %x amax %a tile [0, 0] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<f32>
  %d, %t = hone.quantize %x tile [1, 128] transposed
      : tensor<256x128xbf16> -> tensor<128x256xf8E4M3FN>, tensor<2x128xf32>
  %g, %h = hone.quantize %x amax %a tile [0, 0] transposed
      : tensor<256x128xbf16> -> tensor<128x256xf8E5M2>, tensor<f32>
  return %c, %s, %d, %t, %e, %f, %g, %h : tensor<256x128xf8E4M3FN>, tensor<1x256xf32>, tensor<128x256xf8E4M3FN>,
      tensor<2x128xf32>, tensor<256x128xf8E4M3FN>, tensor<f32>, tensor<128x256xf8E5M2>, tensor<f32>
}
