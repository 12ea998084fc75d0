//===- RowKernels.h - Maps and row reductions on a GPU ----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ROWKERNELS_H
#define HONE_LIB_CODEGEN_GPU_ROWKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Inserts, into the `gpu.module` at the builder, the kernel of a launch of
/// family `map` or `row`. Buffers are aligned to 16 bytes.
///
/// - Without reductions a thread makes one vector of 16 bytes.
/// - Row reductions: as few warps as hold the row, four vectors to a thread; a
///   row of one warp shares a block with others. Longer rows than 4 vectors of
///   512 threads are read again by each sweep (RowSweeps.cpp).
/// - Sums over rows: a block per chunk of rows, as many as the launch's scratch
///   has; the second stage adds the chunks in order.
///
/// Sums are trees that depend on shapes only: two runs give the same bits. They
/// are not those of the CPU kernels. A launch without a row space, or with a
/// scalar in place that several blocks read, is an error at the launch.
mlir::FailureOr<GridKernel> emitDeviceRowKernel(mlir::OpBuilder &builder,
                                                llvm::StringRef name,
                                                plan::LaunchOp launch);

/// The second stage of a launch with sums over rows.
mlir::FailureOr<GridKernel> emitDevicePartialSums(mlir::OpBuilder &builder,
                                                  llvm::StringRef name,
                                                  plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ROWKERNELS_H
