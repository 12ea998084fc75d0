//===- LineKernels.h - Kernels that walk lines of a tensor ------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_LINEKERNELS_H
#define HONE_LIB_CODEGEN_CPU_LINEKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The only op of a launch, whose operands are the launch's inputs and whose
/// results are its outputs; null where the body is another one.
mlir::Operation *onlyOpOf(plan::LaunchOp launch);

/// The only op of a launch of family line; any other body is an error at it.
mlir::FailureOr<mlir::Operation *> lineOpOf(plan::LaunchOp launch);

/// Kernel of a launch of one argsort, topk, put_along or update_slice: a work
/// item is a line along the op's dimension. Scalar code of any strides. A topk
/// passes over the line once for each element that it returns. An argsort sorts
/// ids in the result itself: it needs n log n comparisons and no memory
/// besides.
mlir::FailureOr<Kernel> emitLine(mlir::OpBuilder &builder, llvm::StringRef name,
                                 plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_LINEKERNELS_H
