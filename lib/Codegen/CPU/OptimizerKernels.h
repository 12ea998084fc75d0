//===- OptimizerKernels.h - Kernels of norms and updates --------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_OPTIMIZERKERNELS_H
#define HONE_LIB_CODEGEN_CPU_OPTIMIZERKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Analysis/Memory/Scratch.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The inputs of a launch of one `hone.global_norm` whose elements have the
/// type `element`, as a table of chunks: buffers are the input and the scratch,
/// the tag is the number of its first sum. Another launch is an error at it.
mlir::FailureOr<TensorTable> squareTable(plan::LaunchOp launch,
                                         mlir::FloatType element);

/// The two kernels of a launch of one `hone.global_norm`, which has a scratch
/// `memref<partials x f32>` with a sum per chunk of each input, in the order of
/// its operands: sums depend on shapes only.
///
/// First, once per element type of the inputs, squares of the inputs of that
/// type: a work item is a chunk of an input. Sums in f32 (f64 for f64), 64
/// lanes and their tree; inputs must be contiguous.
mlir::FailureOr<Kernel> emitSquareSums(mlir::OpBuilder &builder,
                                       llvm::StringRef name,
                                       plan::LaunchOp launch,
                                       mlir::FloatType element);
/// Then, one item: adds the sums in order, in f64, and takes the root.
mlir::FailureOr<Kernel> emitNormFinish(mlir::OpBuilder &builder,
                                       llvm::StringRef name,
                                       plan::LaunchOp launch);

/// Kernel of a launch of `hone.adamw`, `hone.adamw_8bit`, `hone.sgd` or
/// `hone.lion` ops with one updateKey, on contiguous buffers, of which outputs
/// may be the inputs they replace: a work item is a chunk of a tensor. Each
/// parameter and its state are read once and written once, the working copy
/// with them. Step-dependent scalars are computed once per tensor and call in
/// f64, as PyTorch does in Python, and rounded to the type of the parameter's
/// arithmetic (f32, or f64 for f64 parameters). Where `apply` is false nothing
/// is touched but results that lie elsewhere than their operands, and working
/// copies. Anything else is an error at the launch.
mlir::FailureOr<Kernel> emitUpdates(mlir::OpBuilder &builder,
                                    llvm::StringRef name,
                                    plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_OPTIMIZERKERNELS_H
