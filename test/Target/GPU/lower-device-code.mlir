// RUN: hone-opt %s --hone-lower-to-nvvm --split-input-file | FileCheck %s

gpu.module @device {
  // A parameter is an address, indices have 64 bits.
  // CHECK-LABEL: llvm.func @copy(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 128>
  // CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK: llvm.sext %[[T]] : i32 to i64
  // CHECK: llvm.load
  // CHECK: llvm.store
  // CHECK: llvm.return
  gpu.func @copy(%from: memref<128xf32>, %to: memref<128xf32>) kernel attributes {nvvm.maxntid = array<i32: 128>} {
    %t = gpu.thread_id x
    %v = memref.load %from[%t] : memref<128xf32>
    memref.store %v, %to[%t] : memref<128xf32>
    gpu.return
  }
}

// -----

gpu.module @device {
  // CHECK: llvm.mlir.global internal @__wg_turn_0() {addr_space = 3 : i32{{.*}}} : !llvm.array<64 x f32>
  // CHECK-LABEL: llvm.func @turn
  // CHECK: llvm.mlir.addressof @__wg_turn_0 : !llvm.ptr<3>
  // CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
  gpu.func @turn(%x: memref<64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c63 = arith.constant 63 : index
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %o = arith.subi %c63, %t : index
    %w = memref.load %s[%o] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @device {
  // CHECK-LABEL: llvm.func @lanes
  // CHECK: nvvm.shfl.sync bfly {{.*}} : f32 -> f32
  // CHECK-NOT: gpu.shuffle
  gpu.func @lanes(%x: !llvm.ptr) kernel {
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %v = llvm.load %x : !llvm.ptr -> f32
    %w, %valid = gpu.shuffle xor %v, %one, %width : f32
    llvm.store %w, %x : f32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @device {
  // Loops, vectors, instructions of math; a prefetch is nothing.
  // CHECK-LABEL: llvm.func @row
  // CHECK-NOT: prefetch
  // CHECK: llvm.cond_br
  // CHECK: llvm.intr.fma{{.*}} vector<8xf32>
  // CHECK: llvm.intr.sqrt{{.*}} vector<8xf32>
  // CHECK: llvm.intr.fabs{{.*}} vector<8xf32>
  // CHECK: "llvm.intr.vector.reduce.fadd"
  gpu.func @row(%x: memref<4x8xf32>, %y: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    memref.prefetch %x[%c0, %c0], read, locality<3>, data : memref<4x8xf32>
    scf.for %i = %c0 to %c4 step %c1 {
      %v = vector.load %x[%i, %c0] : memref<4x8xf32>, vector<8xf32>
      %a = math.fma %v, %v, %v : vector<8xf32>
      %b = math.sqrt %a : vector<8xf32>
      %c = math.absf %b : vector<8xf32>
      %s = vector.reduction <add>, %c, %zero : vector<8xf32> into f32
      memref.store %s, %y[%i] : memref<4xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @device {
  // Masks of constant bounds are constants.
  // CHECK-LABEL: llvm.func @masked
  // CHECK: llvm.mlir.constant(dense<[true, true, true, false]>
  // CHECK: llvm.intr.masked.load
  gpu.func @masked(%x: memref<4xf32>, %y: memref<1xvector<4xf32>>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %mask = vector.constant_mask [3] : vector<4xi1>
    %v = vector.maskedload %x[%c0], %mask, %zero : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    memref.store %v, %y[%c0] : memref<1xvector<4xf32>>
    gpu.return
  }
}

// -----

gpu.module @device {
  // What other passes put on a kernel stays.
  // CHECK: llvm.func @marked
  // CHECK-SAME: hone.vectorised
  gpu.func @marked() kernel attributes {hone.vectorised} {
    gpu.return
  }
}
