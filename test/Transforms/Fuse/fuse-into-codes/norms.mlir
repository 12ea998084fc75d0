// RUN: hone-opt %s --pass-pipeline='builtin.module(hone-set-target{target=cuda arch=sm_90},func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-fuse-into-codes,hone-verify-groups))' | FileCheck %s

// A norm whose result nothing but codes reads: its row kernel keeps what it finds per row, and the kernel that makes
// codes, along rows and columns, computes the rest from the norm's input and weights.
// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<2x16x128xbf16>, %g: tensor<128xf32>)
    -> (tensor<2x16xf32>, tensor<32x128xf8E4M3FN>, tensor<128x32xf8E4M3FN>) {
  // CHECK: %[[ROW:.+]] = hone.fused row (%{{.+}} = %arg0 : tensor<2x16x128xbf16>) -> tensor<2x16xf32> {
  // CHECK: hone.rsqrt
  // CHECK-NEXT: hone.yield
  // CHECK-DAG: %[[X:.+]] = hone.reshape %arg0 : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  // CHECK-DAG: %[[R:.+]] = hone.reshape %[[ROW]] : tensor<2x16xf32> -> tensor<32xf32>
  // CHECK: hone.fused data_movement
  // CHECK-SAME: = %arg1 : tensor<128xf32>
  // CHECK: hone.cast
  // CHECK-NEXT: hone.broadcast %{{.+}} dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  // CHECK-NEXT: hone.mul
  // CHECK-NEXT: hone.broadcast %{{.+}} dims [1] : tensor<128xf32> -> tensor<32x128xf32>
  // CHECK-NEXT: hone.mul
  // CHECK-NEXT: %[[N:.+]] = hone.cast
  // CHECK-NEXT: hone.quantize %[[N]] tile [1, 128] :
  // CHECK-NEXT: hone.quantize %[[N]] tile [1, 128] transposed
  // CHECK-NEXT: hone.yield
  // CHECK: return %[[ROW]]
  %f = hone.cast %x : tensor<2x16x128xbf16> -> tensor<2x16x128xf32>
  %q = hone.mul %f, %f : tensor<2x16x128xf32>
  %s = hone.reduce sum %q dims [2] : tensor<2x16x128xf32> -> tensor<2x16xf32>
  %r = hone.rsqrt %s : tensor<2x16xf32>
  %b = hone.broadcast %r dims [0, 1] : tensor<2x16xf32> -> tensor<2x16x128xf32>
  %h = hone.mul %f, %b : tensor<2x16x128xf32>
  %w = hone.broadcast %g dims [2] : tensor<128xf32> -> tensor<2x16x128xf32>
  %n = hone.mul %h, %w : tensor<2x16x128xf32>
  %l = hone.cast %n : tensor<2x16x128xf32> -> tensor<2x16x128xbf16>
  %m = hone.reshape %l : tensor<2x16x128xbf16> -> tensor<32x128xbf16>
  %c, %cs = hone.quantize %m tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %d, %ds = hone.quantize %m tile [1, 128] transposed
      : tensor<32x128xbf16> -> tensor<128x32xf8E4M3FN>, tensor<1x128xf32>
  return %r, %c, %d : tensor<2x16xf32>, tensor<32x128xf8E4M3FN>, tensor<128x32xf8E4M3FN>
}

// Values per row that nothing else reads become results of the row kernel; a sum that it writes is read.
// CHECK-LABEL: @sum_and_norm
func.func @sum_and_norm(%x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>)
    -> (tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>) {
  // CHECK: %[[ROW:.+]]:2 = hone.fused row {{.*}} -> (tensor<32x128xbf16>, tensor<32xf32>)
  // CHECK: hone.fused data_movement (%[[S:.+]] = %[[ROW]]#0 : tensor<32x128xbf16>, %[[M:.+]] = %[[ROW]]#1 : tensor<32xf32>)
  // CHECK-NOT: hone.reduce
  // CHECK: hone.quantize
  // CHECK: return %[[ROW]]#0
  %z = hone.add %x, %y : tensor<32x128xbf16>
  %f = hone.cast %z : tensor<32x128xbf16> -> tensor<32x128xf32>
  %s = hone.reduce sum %f dims [1] : tensor<32x128xf32> -> tensor<32xf32>
  %b = hone.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  %h = hone.sub %f, %b : tensor<32x128xf32>
  %l = hone.cast %h : tensor<32x128xf32> -> tensor<32x128xbf16>
  %c, %cs = hone.quantize %l tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %z, %c : tensor<32x128xbf16>, tensor<32x128xf8E4M3FN>
}

// Kept whole: an input of 4 bytes per element, as many as the result takes to write and read; another reader.
// CHECK-LABEL: @whole
// CHECK-COUNT-2: hone.yield {{.*}} : tensor<32x128xbf16>
// CHECK: return
func.func @whole(%x: tensor<32x128xf32>, %y: tensor<32x128xbf16>)
    -> (tensor<32x128xf8E4M3FN>, tensor<32x128xf8E4M3FN>, tensor<32x128xbf16>) {
  %s = hone.reduce sum %x dims [1] : tensor<32x128xf32> -> tensor<32xf32>
  %b = hone.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  %h = hone.sub %x, %b : tensor<32x128xf32>
  %l = hone.cast %h : tensor<32x128xf32> -> tensor<32x128xbf16>
  %c, %cs = hone.quantize %l tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %t = hone.reduce max %y dims [1] : tensor<32x128xbf16> -> tensor<32xbf16>
  %u = hone.broadcast %t dims [0] : tensor<32xbf16> -> tensor<32x128xbf16>
  %v = hone.sub %y, %u : tensor<32x128xbf16>
  %d, %ds = hone.quantize %v tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %c, %d, %v : tensor<32x128xf8E4M3FN>, tensor<32x128xf8E4M3FN>, tensor<32x128xbf16>
}

// Kept whole: a product that the sums read, too, is rounded before it is added to. A kernel in which nothing else reads it
// would add to it at once, and make other bits: the one that makes codes, or what stays of the row kernel.
// CHECK-LABEL: @rounded
// CHECK-COUNT-2: hone.yield {{.*}} : tensor<32x128xbf16>
// CHECK: return
func.func @rounded(%x: tensor<32x128xbf16>, %y: tensor<32x128xbf16>, %g: tensor<128xf32>)
    -> (tensor<32x128xf8E4M3FN>, tensor<32x128xf8E4M3FN>) {
  %w = hone.broadcast %g dims [1] : tensor<128xf32> -> tensor<32x128xf32>
  %f = hone.cast %x : tensor<32x128xbf16> -> tensor<32x128xf32>
  %z = hone.mul %f, %w : tensor<32x128xf32>
  %s = hone.reduce sum %z dims [1] : tensor<32x128xf32> -> tensor<32xf32>
  %b = hone.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  %h = hone.add %z, %b : tensor<32x128xf32>
  %l = hone.cast %h : tensor<32x128xf32> -> tensor<32x128xbf16>
  %c, %cs = hone.quantize %l tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  %i = hone.cast %y : tensor<32x128xbf16> -> tensor<32x128xf32>
  %p = hone.mul %i, %w : tensor<32x128xf32>
  %q = hone.add %p, %i : tensor<32x128xf32>
  %t = hone.reduce sum %q dims [1] : tensor<32x128xf32> -> tensor<32xf32>
  %u = hone.broadcast %t dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  %v = hone.sub %p, %u : tensor<32x128xf32>
  %m = hone.cast %v : tensor<32x128xf32> -> tensor<32x128xbf16>
  %d, %ds = hone.quantize %m tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %c, %d : tensor<32x128xf8E4M3FN>, tensor<32x128xf8E4M3FN>
}

// Split: a product that nothing but the sum reads is no number of its own in either kernel.
// CHECK-LABEL: @alike
// CHECK: hone.fused row {{.*}} -> tensor<32xf32>
// CHECK: hone.fused data_movement
// CHECK: hone.add
// CHECK: return
func.func @alike(%x: tensor<32x128xbf16>, %g: tensor<128xf32>) -> tensor<32x128xf8E4M3FN> {
  %f = hone.cast %x : tensor<32x128xbf16> -> tensor<32x128xf32>
  %s = hone.reduce sum %f dims [1] : tensor<32x128xf32> -> tensor<32xf32>
  %b = hone.broadcast %s dims [0] : tensor<32xf32> -> tensor<32x128xf32>
  %w = hone.broadcast %g dims [1] : tensor<128xf32> -> tensor<32x128xf32>
  %n = hone.mul %f, %w : tensor<32x128xf32>
  %h = hone.add %n, %b : tensor<32x128xf32>
  %l = hone.cast %h : tensor<32x128xf32> -> tensor<32x128xbf16>
  %c, %cs = hone.quantize %l tile [1, 128] : tensor<32x128xbf16> -> tensor<32x128xf8E4M3FN>, tensor<1x32xf32>
  return %c : tensor<32x128xf8E4M3FN>
}
