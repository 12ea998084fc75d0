// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s --check-prefix=CPU

// Sums of the columns of a value, gradients of biases, come from the kernel that makes codes of it. It also computes the
// value where nothing else reads that, as the gradient of a GELU.
// CPU: hone.fused row
// CHECK-LABEL: @gelu_bwd
func.func @gelu_bwd(%d: tensor<2x16x128xbf16>, %u: tensor<2x16x128xbf16>)
    -> (tensor<32x128xf8E4M3FN>, tensor<128x32xf8E4M3FN>, tensor<128xf32>) {
  // CHECK: %[[F:.+]]:3 = hone.fused data_movement (%[[D:.+]] = %{{.+}} : tensor<32x128xbf16>, %[[U:.+]] = %{{.+}} : tensor<32x128xbf16>)
  // CHECK-NEXT: %[[G:.+]] = hone.gelu_bwd tanh %[[D]], %[[U]] : tensor<32x128xbf16>
  // CHECK-NEXT: %[[W:.+]] = hone.cast %[[G]] : tensor<32x128xbf16> -> tensor<32x128xf32>
  // CHECK-NEXT: %[[S:.+]] = hone.reduce sum %[[W]] dims [0] : tensor<32x128xf32> -> tensor<128xf32>
  // CHECK-NEXT: %[[A:.+]], %{{.+}} = hone.quantize %[[G]] tile [1, 128] :
  // CHECK-NEXT: %[[B:.+]], %{{.+}} = hone.quantize %[[G]] tile [1, 128] transposed
  // CHECK-NEXT: hone.yield %[[A]], %[[B]], %[[S]]
  // CHECK-NOT: hone.fused
  // CHECK: return %[[F]]#0, %[[F]]#1, %[[F]]#2
  %g = hone.gelu_bwd tanh %d, %u : tensor<2x16x128xbf16>
  %f = hone.cast %g : tensor<2x16x128xbf16> -> tensor<2x16x128xf32>
  %s = hone.reduce sum %f dims [0, 1] : tensor<2x16x128xf32> -> tensor<128xf32>
  %r = hone.reshape %g : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  %a, %sa = hone.quantize %r tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %b, %sb = hone.quantize %r tile [1, 128] transposed
      : tensor<32x128xbf16> -> tensor<128x32xf8E4M3FN>, tensor<1x128xf32>
  return %a, %b, %s : tensor<32x128xf8E4M3FN>, tensor<128x32xf8E4M3FN>, tensor<128xf32>
}

// Of an argument, and where what reads the sums stands before the codes.
// CHECK-LABEL: @stored
func.func @stored(%x: tensor<32x128xbf16>, %g: tensor<128xf32>) -> (tensor<128xf32>, tensor<32x128xf8E4M3FN>) {
  // CHECK: %[[F:.+]]:2 = hone.fused data_movement (%{{.+}} = %arg0 : tensor<32x128xbf16>)
  // CHECK: hone.fused {{.*}} = %[[F]]#1 : tensor<128xf32>
  // CHECK: return %{{.+}}, %[[F]]#0
  %f = hone.cast %x : tensor<32x128xbf16> -> tensor<32x128xf32>
  %s = hone.reduce sum %f dims [0] : tensor<32x128xf32> -> tensor<128xf32>
  %t = hone.add %s, %g : tensor<128xf32>
  %a, %sa = hone.quantize %x tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %t, %a : tensor<128xf32>, tensor<32x128xf8E4M3FN>
}

// Kept apart: another reader of the gradient; largest values in place of sums; one scale of all.
// CHECK-LABEL: @apart
// CHECK-COUNT-3: hone.fused row
// CHECK: return
func.func @apart(%d: tensor<32x128xbf16>, %u: tensor<32x128xbf16>, %x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>)
    -> (tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>, tensor<128xf32>, tensor<32xbf16>, tensor<32x128xf8E4M3FN>,
        tensor<128xf32>, tensor<32x128xf8E4M3FN>) {
  %g = hone.gelu_bwd tanh %d, %u : tensor<32x128xbf16>
  %f = hone.cast %g : tensor<32x128xbf16> -> tensor<32x128xf32>
  %s = hone.reduce sum %f dims [0] : tensor<32x128xf32> -> tensor<128xf32>
  %a, %sa = hone.quantize %g tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %m = hone.reduce max %x dims [1] : tensor<32x128xbf16> -> tensor<32xbf16>
  %b, %sb = hone.quantize %x tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %yf = hone.cast %y : tensor<32x128xbf16> -> tensor<32x128xf32>
  %t = hone.reduce sum %yf dims [0] : tensor<32x128xf32> -> tensor<128xf32>
  %amax = hone.amax %y : tensor<32x128xbf16>
  %c, %sc = hone.quantize %y amax %amax tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %g, %a, %s, %m, %b, %t, %c : tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>, tensor<128xf32>, tensor<32xbf16>,
      tensor<32x128xf8E4M3FN>, tensor<128xf32>, tensor<32x128xf8E4M3FN>
}

// Kept whole: others read the gradient's view, so that it is stored.
// CHECK-LABEL: @viewed
// CHECK: hone.fused row {{.*}} -> (tensor<2x16x128xbf16>, tensor<128xf32>)
// CHECK-NOT: hone.fused map
// CHECK: return
func.func @viewed(%d: tensor<2x16x128xbf16>, %u: tensor<2x16x128xbf16>)
    -> (tensor<32x128xf8E4M3FN>, tensor<128xf32>, tensor<32x128xbf16>) {
  %g = hone.gelu_bwd tanh %d, %u : tensor<2x16x128xbf16>
  %f = hone.cast %g : tensor<2x16x128xbf16> -> tensor<2x16x128xf32>
  %s = hone.reduce sum %f dims [0, 1] : tensor<2x16x128xf32> -> tensor<128xf32>
  %r = hone.reshape %g : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  %a, %sa = hone.quantize %r tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %a, %s, %r : tensor<32x128xf8E4M3FN>, tensor<128xf32>, tensor<32x128xbf16>
}
