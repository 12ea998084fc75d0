// RUN: hone-opt %s --hone-lower-to-llvm --split-input-file | FileCheck %s

// Buffers are addresses; a loop over vectors is a loop over vectors.
// CHECK-LABEL: llvm.func @add_one(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
func.func @add_one(%x: memref<1024xf32>, %lo: index, %hi: index) {
  %step = arith.constant 16 : index
  %one = arith.constant dense<1.0> : vector<16xf32>
  scf.for %i = %lo to %hi step %step {
    %a = vector.load %x[%i] : memref<1024xf32>, vector<16xf32>
    %b = arith.addf %a, %one : vector<16xf32>
    vector.store %b, %x[%i] : memref<1024xf32>, vector<16xf32>
  }
  return
}

// -----

// Exponentials are polynomials, contracted only where the polynomial says so.
// CHECK-LABEL: llvm.func @exponential
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.intr.fma
func.func @exponential(%x: memref<16xf32>) {
  %zero = arith.constant 0 : index
  %a = vector.load %x[%zero] : memref<16xf32>, vector<16xf32>
  %b = math.exp %a : vector<16xf32>
  vector.store %b, %x[%zero] : memref<16xf32>, vector<16xf32>
  return
}

// -----

// Strided views become address arithmetic.
// CHECK-LABEL: llvm.func @strided
// CHECK-NOT: memref
// CHECK: llvm.mul
func.func @strided(%x: memref<8x16xf32, strided<[48, 1], offset: 16>>, %i: index) -> f32 {
  %zero = arith.constant 0 : index
  %r = memref.load %x[%i, %zero] : memref<8x16xf32, strided<[48, 1], offset: 16>>
  return %r : f32
}
