//===- AddKernels.h - Additions of many tensors on a GPU --------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_ADDKERNELS_H
#define HONE_LIB_CODEGEN_GPU_ADDKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of those of a launch's `hone.add` ops whose elements have the
/// type `element`: sums of contiguous inputs, which they may lie on. Threads
/// have neighbouring vectors of 16 bytes, of less where a tensor begins
/// elsewhere, and single elements at a tensor's end. The argument is the
/// address of the arena. A launch of other ops is an error at it.
mlir::FailureOr<GridKernel> emitDeviceAdds(mlir::OpBuilder &builder,
                                           llvm::StringRef name,
                                           plan::LaunchOp launch,
                                           mlir::Type element);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_ADDKERNELS_H
