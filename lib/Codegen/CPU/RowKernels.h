//===- RowKernels.h - Kernels for maps and row reductions -------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_ROWKERNELS_H
#define HONE_LIB_CODEGEN_CPU_ROWKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Inserts the kernel of a launch of family `map` or `row`. The function takes
/// the launch's inputs, outputs and scratch as one-dimensional memrefs of all
/// their elements (i1 as i8).
///
/// Without partial sums an item is a row (or, for a flat map, 64 elements);
/// with them it is a chunk of rows, whose sums the kernel leaves in scratch.
mlir::FailureOr<Kernel> emitRowKernel(mlir::OpBuilder &builder,
                                      llvm::StringRef name,
                                      plan::LaunchOp launch);

/// Inserts the second stage of a launch with partial sums: a function of the
/// same arguments that adds the chunks of each sum, in order. An item is a
/// block of 16 columns.
mlir::FailureOr<Kernel> emitPartialSums(mlir::OpBuilder &builder,
                                        llvm::StringRef name,
                                        plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_ROWKERNELS_H
