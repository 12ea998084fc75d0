//===- DataMovementKernels.h - Moves of elements on a GPU -------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_DATAMOVEMENTKERNELS_H
#define HONE_LIB_CODEGEN_GPU_DATAMOVEMENTKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a launch of which emitPoint makes one for a CPU, inside the
/// `gpu.module` at the builder. Arguments are the launch's buffers.
///
/// - One transpose, slice, pad or concat of contiguous buffers that keeps runs
///   of elements: a thread moves 16 bytes, or as many as divide the runs.
/// - One that keeps none, but has a contiguous dimension: a block transposes a
///   tile through shared memory, and both sides of it are accessed so.
/// - One reduction of other dimensions than the last: a thread makes 16 bytes
///   of the result, in the CPU's order.
/// - One cumsum of long lines: a warp per line.
/// - Everything else: a thread makes an element.
mlir::FailureOr<GridKernel> emitDevicePoint(mlir::OpBuilder &builder,
                                            llvm::StringRef name,
                                            plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_DATAMOVEMENTKERNELS_H
