//===- OptimizerKernels.h - Kernels of norms and updates --------*- C++ -*-===//

#ifndef HONE_CONVERSION_OPTIMIZERKERNELS_H
#define HONE_CONVERSION_OPTIMIZERKERNELS_H

#include "hone/Analysis/Scratch.h"
#include "hone/Conversion/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//
//
// A launch of one hone.global_norm of N inputs is N + 1 kernel calls over its
// scratch, `memref<partials x f32>`:
//
//   base = 0
//   for each input i:                     // kernels of equal types are shared
//     emitSquareSums(type of input i)     // (input i, scratch at base)
//     base += normPartials(type of input i)
//   emitNormFinish(partials, type of the result)
//                                         // (scratch, result)
//
// Partial sums are per chunk of a tensor, so they depend on shapes only.

/// `@name(input, partials : memref<normPartials(input) x f32>, lo, hi)`: an
/// item is a chunk of the input. Sums in f32 (f64 for f64), 64 lanes and their
/// tree; the input must be contiguous.
Kernel emitSquareSums(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef name, mlir::MemRefType input);

/// `@name(partials : memref<partials x f32>, result : memref<type>, lo, hi)`:
/// one item. Adds the partial sums in order, in f64, and takes the root.
Kernel emitNormFinish(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef name, int64_t partials,
                      mlir::FloatType type);

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// Kernel of a launch of one `hone.adamw` or `hone.sgd` on contiguous buffers:
/// an item is a block of 64 elements. Outputs may be the inputs they replace.
/// Step-dependent scalars are computed once per call in f64, as PyTorch does in
/// Python, and rounded to the type of the parameter's arithmetic (f32, or f64
/// for f64 parameters). Anything else is an error at the launch.
mlir::FailureOr<Kernel> emitAdamw(mlir::OpBuilder &builder,
                                  llvm::StringRef name, plan::LaunchOp launch);
mlir::FailureOr<Kernel> emitSgd(mlir::OpBuilder &builder, llvm::StringRef name,
                                plan::LaunchOp launch);

} // namespace hone

#endif // HONE_CONVERSION_OPTIMIZERKERNELS_H
