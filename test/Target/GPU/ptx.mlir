// REQUIRES: device-code
// RUN: device-code %s sm_90 | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: device-code %s sm_86 | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: device-code %s sm_90 emulated | FileCheck %s --check-prefix=EMULATED

// HOPPER: .version 7.8
// HOPPER: .target sm_90
// AMPERE: .version 7.0
// AMPERE: .target sm_80

// Eight bf16 at a time, arithmetic in f32 with the roundings that were written.
// CHECK-LABEL: .visible .entry scale(
// CHECK: .maxntid 128
// CHECK: ld.global.v4.{{[a-z]}}32
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK-NOT: fma
// CHECK: st.global.v4.{{[a-z]}}32
// CHECK: ret;

// CHECK-LABEL: .visible .entry softplus(
// CHECK-NOT: .extern
// CHECK: ex2.approx.ftz.f32
// CHECK: ret;

// EMULATED-NOT: llvm.nvvm
// EMULATED: @honemu_linked_image = constant
// EMULATED: define internal void @scale(
// EMULATED: call void @honemu_access({{.*}}, i64 16, i64 16, i64 0)
// EMULATED: call float @honemu_ex2_approx_ftz_f
gpu.module @device {
  gpu.func @scale(%x: memref<1024xvector<8xbf16>>, %y: memref<1024xvector<8xbf16>>) kernel
      attributes {nvvm.maxntid = array<i32: 128>, hone.vectorised} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %n = gpu.block_dim x
    %base = arith.muli %b, %n : index
    %i = arith.addi %base, %t : index
    %v = memref.load %x[%i] : memref<1024xvector<8xbf16>>
    %w = arith.extf %v : vector<8xbf16> to vector<8xf32>
    %p = arith.mulf %w, %w : vector<8xf32>
    %s = arith.addf %p, %w : vector<8xf32>
    %r = arith.truncf %s : vector<8xf32> to vector<8xbf16>
    memref.store %r, %y[%i] : memref<1024xvector<8xbf16>>
    gpu.return
  }

  gpu.func @softplus(%x: memref<128xf32>) kernel attributes {nvvm.maxntid = array<i32: 128>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<128xf32>
    %e = math.exp %v : f32
    %l = math.log1p %e : f32
    memref.store %l, %x[%t] : memref<128xf32>
    gpu.return
  }
}
