//===- GatherKernels.h - Kernels that pick or add rows ----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_GATHERKERNELS_H
#define HONE_LIB_CODEGEN_CPU_GATHERKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Kernel of a launch of family `gather`, on contiguous buffers:
///
/// - `hone.embedding`: an item is an id; copies its row of the table.
/// - `hone.embedding_bwd`, or that and a `hone.add` of an input: an item is a
///   row of the table. A call clears its rows (or copies the input's, unless
///   the output is the input), then walks over all ids once and adds the
///   gradients of those in its range in increasing order: no atomics, and the
///   same sums however the rows are split. Narrow floats add up in f32.
///
/// Anything else is an error at the launch.
mlir::FailureOr<Kernel> emitGather(mlir::OpBuilder &builder,
                                   llvm::StringRef name, plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_GATHERKERNELS_H
