//===- RopeKernels.h - Rotary embeddings on a GPU ---------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ROPEKERNELS_H
#define HONE_LIB_CODEGEN_GPU_ROPEKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a launch of one `hone.rope` of inputs with contiguous rows,
/// inside the `gpu.module` at the builder; the output may be the input.
/// Arguments are the launch's buffers. A thread turns the pairs of one or two
/// vectors of 16 bytes, or as many as divide a row; where none does, a row.
mlir::FailureOr<GridKernel> emitDeviceRope(mlir::OpBuilder &builder,
                                           llvm::StringRef name,
                                           plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ROPEKERNELS_H
