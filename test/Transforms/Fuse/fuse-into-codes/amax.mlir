// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s --check-prefix=CPU

// One scale per tensor. The kernel that makes a value finds its largest magnitude, too. Nothing else reads this norm's
// result: its kernel does not write it, the one that makes codes computes it again.
// CHECK-LABEL: @norm
// CPU-LABEL: @norm
func.func @norm(%x: tensor<2x16x128xbf16>) -> (tensor<32x128xf8E4M3FN>, tensor<f32>) {
  // CHECK: %[[ROW:.+]]:2 = hone.fused row {{.*}} -> (tensor<f32>, tensor<2x16xf32>)
  // CHECK: hone.amax
  // CHECK-NEXT: hone.yield
  // CHECK: hone.fused data_movement
  // CHECK-SAME: %[[A:[a-z0-9]+]] = %[[ROW]]#0 : tensor<f32>)
  // CHECK: %[[N:.+]] = hone.cast %{{.+}} -> tensor<32x128xbf16>
  // CHECK: hone.quantize %[[N]] amax %[[A]] tile [0, 0]
  // CHECK: return
  // CPU: hone.fused row {{.*}} -> (tensor<f32>, tensor<2x16xf32>)
  // CPU: hone.fused data_movement
  // CPU: hone.sub
  %f = hone.cast %x : tensor<2x16x128xbf16> -> tensor<2x16x128xf32>
  %s = hone.reduce sum %f dims [2] : tensor<2x16x128xf32> -> tensor<2x16xf32>
  %b = hone.broadcast %s dims [0, 1] : tensor<2x16xf32> -> tensor<2x16x128xf32>
  %h = hone.sub %f, %b : tensor<2x16x128xf32>
  %l = hone.cast %h : tensor<2x16x128xf32> -> tensor<2x16x128xbf16>
  %m = hone.reshape %l : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  %a = hone.amax %m : tensor<32x128xbf16>
  %c, %cs = hone.quantize %m amax %a tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %c, %cs : tensor<32x128xf8E4M3FN>, tensor<f32>
}

// A map of 2 bytes per element is computed twice, too, on a GPU.
// CHECK-LABEL: @gelu
// CPU-LABEL: @gelu
func.func @gelu(%x: tensor<32x128xbf16>) -> tensor<32x128xf8E4M3FN> {
  // CHECK: hone.fused map {{.*}} -> tensor<f32>
  // CHECK-NEXT: hone.gelu
  // CHECK-NEXT: hone.amax
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.gelu
  // CHECK-NEXT: hone.quantize
  // CPU: hone.fused map {{.*}} -> (tensor<32x128xbf16>, tensor<f32>)
  %g = hone.gelu tanh %x : tensor<32x128xbf16>
  %a = hone.amax %g : tensor<32x128xbf16>
  %c, %cs = hone.quantize %g amax %a tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %c : tensor<32x128xf8E4M3FN>
}

// One of 4 bytes is written: to read its inputs again takes no fewer bytes.
// CHECK-LABEL: @gate
// CPU-LABEL: @gate
func.func @gate(%g: tensor<32x128xbf16>, %u: tensor<32x128xbf16>) -> tensor<128x32xf8E4M3FN> {
  // CHECK: hone.fused map {{.*}} -> (tensor<32x128xbf16>, tensor<f32>)
  // CHECK-NEXT: hone.mul
  // CHECK-NEXT: hone.amax
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.quantize
  %s = hone.mul %g, %u : tensor<32x128xbf16>
  %a = hone.amax %s : tensor<32x128xbf16>
  %c, %cs = hone.quantize %s amax %a tile [0, 0] transposed
      : tensor<32x128xbf16> -> tensor<128x32xf8E4M3FN>, tensor<f32>
  return %c : tensor<128x32xf8E4M3FN>
}

// So is what something else reads.
// CHECK-LABEL: @stream
// CPU-LABEL: @stream
func.func @stream(%x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>)
    -> (tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>) {
  // CHECK: hone.fused map {{.*}} -> (tensor<32x128xbf16>, tensor<f32>)
  // CHECK-NEXT: hone.add
  // CHECK-NEXT: hone.amax
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.quantize
  %z = hone.add %x, %y : tensor<32x128xbf16>
  %a = hone.amax %z : tensor<32x128xbf16>
  %c, %cs = hone.quantize %z amax %a tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %z, %c : tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>
}

// Of values side by side, a kernel of its own finds what is largest. It computes them as the kernel of codes does, where
// that takes fewer bytes than to write them and to read them twice; on a CPU it reads them.
// CHECK-LABEL: @parts
// CPU-LABEL: @parts
func.func @parts(%q: tensor<2x16x128xbf16>, %t: tensor<16x16xf32>, %v: tensor<2x16x128xbf16>)
    -> tensor<32x256xf8E4M3FN> {
  // CHECK-NOT: hone.fused rope
  // CHECK: %[[A:.+]] = hone.fused data_movement {{.*}} -> tensor<f32>
  // CHECK: hone.rope
  // CHECK: hone.exp
  // CHECK: %[[X:.+]] = hone.concat
  // CHECK-NEXT: hone.amax %[[X]]
  // CHECK: hone.fused data_movement
  // CHECK-SAME: %[[B:[a-z0-9]+]] = %[[A]] : tensor<f32>
  // CHECK: hone.rope
  // CHECK: hone.exp
  // CHECK: hone.quantize %{{.+}} amax %[[B]]
  // CHECK: return
  // CPU: hone.fused rope
  // CPU: hone.fused map
  // CPU: hone.fused data_movement
  // CPU-NEXT: hone.amax
  %h = hone.reshape %q : tensor<2x16x128xbf16> -> tensor<2x16x4x32xbf16>
  %r = hone.rope half inverse %h, %t, %t : tensor<2x16x4x32xbf16>, tensor<16x16xf32>
  %m = hone.reshape %r : tensor<2x16x4x32xbf16> -> tensor<2x16x128xbf16>
  %e = hone.exp %v : tensor<2x16x128xbf16>
  %y = hone.concat %m, %e dim 2 : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<2x16x256xbf16>
  %x = hone.reshape %y : tensor<2x16x256xbf16> -> tensor<32x256xbf16>
  %a = hone.amax %x : tensor<32x256xbf16>
  %c, %cs = hone.quantize %x amax %a tile [0, 0] : tensor<32x256xbf16> -> tensor<32x256xf8E4M3FN>, tensor<f32>
  return %c : tensor<32x256xf8E4M3FN>
}

// Six inputs of two parts are too many.
// CHECK-LABEL: @wide
// CPU-LABEL: @wide
func.func @wide(%d: tensor<32x128xbf16>, %e: tensor<32x128xbf16>, %f: tensor<32x128xbf16>, %g: tensor<32x128xbf16>,
                %h: tensor<32x128xbf16>, %i: tensor<32x128xbf16>) -> tensor<32x256xf8E4M3FN> {
  // CHECK: hone.fused map
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.amax
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.quantize
  %a = hone.mul %d, %e : tensor<32x128xbf16>
  %b = hone.mul %a, %f : tensor<32x128xbf16>
  %c = hone.add %b, %g : tensor<32x128xbf16>
  %j = hone.mul %c, %h : tensor<32x128xbf16>
  %k = hone.add %b, %i : tensor<32x128xbf16>
  %x = hone.concat %j, %k dim 1 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x256xbf16>
  %m = hone.amax %x : tensor<32x256xbf16>
  %n, %s = hone.quantize %x amax %m tile [0, 0] : tensor<32x256xbf16> -> tensor<32x256xf8E4M3FN>, tensor<f32>
  return %n : tensor<32x256xf8E4M3FN>
}

// What a function or a call makes is read for it.
// CHECK-LABEL: @given
// CPU-LABEL: @given
func.func @given(%x: tensor<32x128xbf16>) -> tensor<32x128xf8E4M3FN> {
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.amax
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.quantize
  %a = hone.amax %x : tensor<32x128xbf16>
  %c, %cs = hone.quantize %x amax %a tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %c : tensor<32x128xf8E4M3FN>
}

// Sums, which are added in an order of their own, stay with the value and its largest magnitude.
// CHECK-LABEL: @sums
// CPU-LABEL: @sums
func.func @sums(%x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>) -> (tensor<128xf32>, tensor<32x128xf8E4M3FN>) {
  // CHECK: hone.fused row {{.*}} -> (tensor<32x128xbf16>, tensor<128xf32>, tensor<f32>)
  // CHECK: hone.fused data_movement
  // CHECK-NEXT: hone.quantize
  %g = hone.gelu_bwd tanh %x, %y : tensor<32x128xbf16>
  %f = hone.cast %g : tensor<32x128xbf16> -> tensor<32x128xf32>
  %s = hone.reduce sum %f dims [0] : tensor<32x128xf32> -> tensor<128xf32>
  %a = hone.amax %g : tensor<32x128xbf16>
  %c, %cs = hone.quantize %g amax %a tile [0, 0] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<f32>
  return %s, %c : tensor<128xf32>, tensor<32x128xf8E4M3FN>
}

// Codes by tiles need no largest magnitude: who reads that keeps the matrix, which is made once.
// CHECK-LABEL: @tiles
// CPU-LABEL: @tiles
func.func @tiles(%q: tensor<32x128xbf16>, %k: tensor<32x128xbf16>) -> (tensor<32x256xf8E4M3FN>, tensor<f32>) {
  // CHECK: %[[X:.+]] = hone.concat
  // CHECK-NOT: hone.concat
  // CHECK: hone.amax
  // CHECK: hone.quantize
  // CHECK: return
  %e = hone.exp %q : tensor<32x128xbf16>
  %f = hone.exp %k : tensor<32x128xbf16>
  %x = hone.concat %e, %f dim 1 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x256xbf16>
  %a = hone.amax %x : tensor<32x256xbf16>
  %c, %cs = hone.quantize %x tile [1, 128] : tensor<32x256xbf16> -> tensor<32x256xf8E4M3FN>, tensor<2x32xf32>
  return %c, %a : tensor<32x256xf8E4M3FN>, tensor<f32>
}
