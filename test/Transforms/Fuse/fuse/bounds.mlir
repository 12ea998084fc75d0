// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups{report},hone-verify-groups))' -o /dev/null 2>&1 | FileCheck %s
// RUN: hone-opt %s --pass-pipeline='builtin.module(func.func(hone-fuse-groups,hone-verify-groups))' -o /dev/null 2>&1 | count 0

// What stops a search of fusion is a remark of its own: values that too many ops make are stored, and of too many parts pairs are
// joined by gain. test/honec/compile-bounds.test has a region that is cut.

// CHECK: remark: search stopped at its bound: @free: 1 values are stored that more than 32 ops make from constants, counters and broadcasts
// A chain as long that reads data was never to be made again.
// CHECK-NOT: @residual:{{.*}} values are stored
// CHECK: remark: search stopped at its bound: @wide: 1 regions of row ops have more than 16 parts, or too many ways to group them: pairs are joined by gain
func.func @free(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %i0 = hone.iota dim 1 : tensor<8x64xf32>
  %i1 = hone.add %i0, %i0 : tensor<8x64xf32>
  %i2 = hone.add %i1, %i1 : tensor<8x64xf32>
  %i3 = hone.add %i2, %i2 : tensor<8x64xf32>
  %i4 = hone.add %i3, %i3 : tensor<8x64xf32>
  %i5 = hone.add %i4, %i4 : tensor<8x64xf32>
  %d = hone.mul %x, %i5 : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
func.func @residual(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a0 = hone.add %x, %y : tensor<8x64xf32>
  %a1 = hone.add %a0, %y : tensor<8x64xf32>
  %a2 = hone.add %a1, %y : tensor<8x64xf32>
  %a3 = hone.add %a2, %y : tensor<8x64xf32>
  %a4 = hone.add %a3, %y : tensor<8x64xf32>
  %a5 = hone.add %a4, %y : tensor<8x64xf32>
  %a6 = hone.add %a5, %y : tensor<8x64xf32>
  %a7 = hone.add %a6, %y : tensor<8x64xf32>
  %a8 = hone.add %a7, %y : tensor<8x64xf32>
  %a9 = hone.add %a8, %y : tensor<8x64xf32>
  %a10 = hone.add %a9, %y : tensor<8x64xf32>
  %a11 = hone.add %a10, %y : tensor<8x64xf32>
  %a12 = hone.add %a11, %y : tensor<8x64xf32>
  %a13 = hone.add %a12, %y : tensor<8x64xf32>
  %a14 = hone.add %a13, %y : tensor<8x64xf32>
  %a15 = hone.add %a14, %y : tensor<8x64xf32>
  %a16 = hone.add %a15, %y : tensor<8x64xf32>
  %a17 = hone.add %a16, %y : tensor<8x64xf32>
  %a18 = hone.add %a17, %y : tensor<8x64xf32>
  %a19 = hone.add %a18, %y : tensor<8x64xf32>
  %a20 = hone.add %a19, %y : tensor<8x64xf32>
  %a21 = hone.add %a20, %y : tensor<8x64xf32>
  %a22 = hone.add %a21, %y : tensor<8x64xf32>
  %a23 = hone.add %a22, %y : tensor<8x64xf32>
  %a24 = hone.add %a23, %y : tensor<8x64xf32>
  %a25 = hone.add %a24, %y : tensor<8x64xf32>
  %a26 = hone.add %a25, %y : tensor<8x64xf32>
  %a27 = hone.add %a26, %y : tensor<8x64xf32>
  %a28 = hone.add %a27, %y : tensor<8x64xf32>
  %a29 = hone.add %a28, %y : tensor<8x64xf32>
  %a30 = hone.add %a29, %y : tensor<8x64xf32>
  %a31 = hone.add %a30, %y : tensor<8x64xf32>
  %a32 = hone.add %a31, %y : tensor<8x64xf32>
  %a33 = hone.add %a32, %y : tensor<8x64xf32>
  %a34 = hone.add %a33, %y : tensor<8x64xf32>
  %a35 = hone.add %a34, %y : tensor<8x64xf32>
  %a36 = hone.add %a35, %y : tensor<8x64xf32>
  %a37 = hone.add %a36, %y : tensor<8x64xf32>
  %a38 = hone.add %a37, %y : tensor<8x64xf32>
  %a39 = hone.add %a38, %y : tensor<8x64xf32>
  %a40 = hone.add %a39, %y : tensor<8x64xf32>
  %a41 = hone.add %a40, %y : tensor<8x64xf32>
  %a42 = hone.add %a41, %y : tensor<8x64xf32>
  %a43 = hone.add %a42, %y : tensor<8x64xf32>
  %a44 = hone.add %a43, %y : tensor<8x64xf32>
  return %a44 : tensor<8x64xf32>
}
func.func @wide(%x0: tensor<8x64xf32>, %x1: tensor<8x64xf32>, %x2: tensor<8x64xf32>, %x3: tensor<8x64xf32>, %x4: tensor<8x64xf32>,
                %x5: tensor<8x64xf32>, %x6: tensor<8x64xf32>, %x7: tensor<8x64xf32>, %x8: tensor<8x64xf32>, %x9: tensor<8x64xf32>,
                %x10: tensor<8x64xf32>, %x11: tensor<8x64xf32>, %x12: tensor<8x64xf32>, %x13: tensor<8x64xf32>, %x14: tensor<8x64xf32>,
                %x15: tensor<8x64xf32>, %x16: tensor<8x64xf32>, %x17: tensor<8x64xf32>, %x18: tensor<8x64xf32>, %x19: tensor<8x64xf32>,
                %x20: tensor<8x64xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %p0 = hone.mul %x0, %x1 : tensor<8x64xf32>
  %s0 = hone.reduce sum %p0 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p1 = hone.mul %x1, %x2 : tensor<8x64xf32>
  %s1 = hone.reduce sum %p1 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p2 = hone.mul %x2, %x3 : tensor<8x64xf32>
  %s2 = hone.reduce sum %p2 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p3 = hone.mul %x3, %x4 : tensor<8x64xf32>
  %s3 = hone.reduce sum %p3 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p4 = hone.mul %x4, %x5 : tensor<8x64xf32>
  %s4 = hone.reduce sum %p4 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p5 = hone.mul %x5, %x6 : tensor<8x64xf32>
  %s5 = hone.reduce sum %p5 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p6 = hone.mul %x6, %x7 : tensor<8x64xf32>
  %s6 = hone.reduce sum %p6 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p7 = hone.mul %x7, %x8 : tensor<8x64xf32>
  %s7 = hone.reduce sum %p7 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p8 = hone.mul %x8, %x9 : tensor<8x64xf32>
  %s8 = hone.reduce sum %p8 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p9 = hone.mul %x9, %x10 : tensor<8x64xf32>
  %s9 = hone.reduce sum %p9 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p10 = hone.mul %x10, %x11 : tensor<8x64xf32>
  %s10 = hone.reduce sum %p10 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p11 = hone.mul %x11, %x12 : tensor<8x64xf32>
  %s11 = hone.reduce sum %p11 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p12 = hone.mul %x12, %x13 : tensor<8x64xf32>
  %s12 = hone.reduce sum %p12 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p13 = hone.mul %x13, %x14 : tensor<8x64xf32>
  %s13 = hone.reduce sum %p13 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p14 = hone.mul %x14, %x15 : tensor<8x64xf32>
  %s14 = hone.reduce sum %p14 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p15 = hone.mul %x15, %x16 : tensor<8x64xf32>
  %s15 = hone.reduce sum %p15 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p16 = hone.mul %x16, %x17 : tensor<8x64xf32>
  %s16 = hone.reduce sum %p16 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p17 = hone.mul %x17, %x18 : tensor<8x64xf32>
  %s17 = hone.reduce sum %p17 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p18 = hone.mul %x18, %x19 : tensor<8x64xf32>
  %s18 = hone.reduce sum %p18 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  %p19 = hone.mul %x19, %x20 : tensor<8x64xf32>
  %s19 = hone.reduce sum %p19 dims [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8, %s9, %s10, %s11, %s12, %s13, %s14, %s15, %s16, %s17, %s18, %s19
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
