//===- QuantizeKernels.h - Kernels that make codes of fp8 -------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_QUANTIZEKERNELS_H
#define HONE_LIB_CODEGEN_CPU_QUANTIZEKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Kernel of a launch of quantize ops of one matrix. Of one op and an input, an
/// item is a row of codes, a tile, or, transposed, some columns of a row of
/// tiles. Of several ops, or a matrix that the launch computes, it is a square
/// of 128 x 128 elements. Each element is read twice, the second time from the
/// cache. Nothing for other launches.
std::optional<mlir::FailureOr<Kernel>> emitQuantize(mlir::OpBuilder &builder,
                                                    llvm::StringRef name,
                                                    plan::LaunchOp launch);

/// Kernel of a launch of one amax, which has one item. Nothing for others.
std::optional<mlir::FailureOr<Kernel>>
emitAmax(mlir::OpBuilder &builder, llvm::StringRef name, plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_QUANTIZEKERNELS_H
