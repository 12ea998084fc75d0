//===- NormKernels.h - The global norm on a GPU -----------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_NORMKERNELS_H
#define HONE_LIB_CODEGEN_GPU_NORMKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernels of a launch of one `hone.global_norm` (OptimizerKernels.h says
/// of which scratch). First, once per element type: a block sums the squares of
/// a chunk of an input, in f32 (f64 for f64). The argument is the address of
/// the arena.
mlir::FailureOr<GridKernel> emitDeviceSquareSums(mlir::OpBuilder &builder,
                                                 llvm::StringRef name,
                                                 plan::LaunchOp launch,
                                                 mlir::FloatType element);
/// Then: one block adds the chunks in f64 and takes the root. The argument is
/// the address of the arena: a kernel may not have as many parameters as a deep
/// model has gradients.
mlir::FailureOr<GridKernel> emitDeviceNormFinish(mlir::OpBuilder &builder,
                                                 llvm::StringRef name,
                                                 plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_NORMKERNELS_H
