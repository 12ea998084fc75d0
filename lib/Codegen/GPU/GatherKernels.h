//===- GatherKernels.h - Sums of rows by id on a GPU ------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_GATHERKERNELS_H
#define HONE_LIB_CODEGEN_GPU_GATHERKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a launch of one `hone.embedding` of contiguous buffers: a
/// thread copies 16 bytes of a row, or as many as divide it. Ids are in bounds.
mlir::FailureOr<GridKernel> emitDeviceGather(mlir::OpBuilder &builder,
                                             llvm::StringRef name,
                                             plan::LaunchOp launch);

/// The kernels of a launch of one `hone.embedding_bwd`, or of that and a
/// `hone.add` of an input, on contiguous buffers. First, unless the output is
/// that input: all rows become the input's, or 0.
mlir::FailureOr<GridKernel> emitDeviceScatterStart(mlir::OpBuilder &builder,
                                                   llvm::StringRef name,
                                                   plan::LaunchOp launch);
/// Then: a block per id. That of the first of equal ids adds the gradients of
/// all of them to the id's row, in increasing order and in f32 (f64), and
/// rounds once; the others end. No atomics: two runs give the same bits, which
/// are those of the CPU.
mlir::FailureOr<GridKernel> emitDeviceScatter(mlir::OpBuilder &builder,
                                              llvm::StringRef name,
                                              plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_GATHERKERNELS_H
