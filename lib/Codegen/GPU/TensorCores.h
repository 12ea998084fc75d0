//===- TensorCores.h - Products of fragments by a warp ----------*- C++ -*-===//
//
// Instructions of sm_80 and all later architectures: a warp multiplies 16 x 16
// by 16 x 8 elements of bf16 or f16 with sums of f32. Operands come from shared
// memory, into which copies from global memory go on beside products.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_GPU_TENSORCORES_H
#define HONE_LIB_CODEGEN_GPU_TENSORCORES_H

#include "Builder.h"

namespace hone::tensorcores {

/// Terms of one instruction, and rows and columns of its result.
constexpr int64_t terms = 16, rows = 16, columns = 8;
/// Sums of a lane, in rows lane / 4 and lane / 4 + 8, and columns 2 (lane % 4)
/// and one more: two of the first row, then two of the second.
constexpr int64_t laneSums = 4;

/// `bytes` of shared memory of the kernel, by address.
mlir::Value sharedMemory(DeviceBuilder &b, mlir::gpu::GPUFuncOp func,
                         int64_t bytes);

/// Copies 4, 8 or 16 `bytes`, aligned to as many, of which `read` (i32) are
/// there and the rest become 0.
void copyAsync(DeviceBuilder &b, mlir::Value to, mlir::Value from,
               int64_t bytes, mlir::Value read);
/// Ends a group of the thread's copies.
void closeCopies(DeviceBuilder &b);
/// Waits until the thread's latest `left` groups at most go on.
void waitForCopies(DeviceBuilder &b, int64_t left);

/// Four matrices of 8 x 8 elements of 16 bits from shared memory; of number i,
/// `row` of lane 8 i + r is the address of row r. Each is an i32 of two
/// neighbours in a row, or in a column where they are transposed.
llvm::SmallVector<mlir::Value> loadMatrices(DeviceBuilder &b, mlir::Value row,
                                            bool areTransposed);

/// `sums` + a b. `a` has four matrices: the upper and lower half of the first
/// eight terms, then of the others; `b` two: of the first terms and the others.
llvm::SmallVector<mlir::Value> multiply(DeviceBuilder &b, mlir::Type element,
                                        mlir::ValueRange a,
                                        mlir::ValueRange other,
                                        mlir::ValueRange sums);

} // namespace hone::tensorcores

#endif // HONE_LIB_CODEGEN_GPU_TENSORCORES_H
