//===- GatherKernels.h - Kernels that pick rows on a GPU --------*- C++ -*-===//

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

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_GATHERKERNELS_H
