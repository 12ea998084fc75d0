//===- QuantizeKernels.h - Codes of fp8 on a GPU ----------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_QUANTIZEKERNELS_H
#define HONE_LIB_CODEGEN_GPU_QUANTIZEKERNELS_H

#include "GridKernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Codes and scales of hone.quantize ops of one matrix, which is read once: a
/// block serves 128 x 128 of its elements. Sums of its columns are those of
/// squares, in the launch's scratch.
mlir::FailureOr<GridKernel> emitDeviceQuantize(mlir::OpBuilder &builder,
                                               llvm::StringRef name,
                                               plan::LaunchOp launch);

/// The second stage of sums of columns: the squares of each column.
mlir::FailureOr<GridKernel> emitDeviceCodeSums(mlir::OpBuilder &builder,
                                               llvm::StringRef name,
                                               plan::LaunchOp launch);

/// The largest magnitude of a tensor. The result must hold 0 before.
mlir::FailureOr<GridKernel> emitDeviceAmax(mlir::OpBuilder &builder,
                                           llvm::StringRef name,
                                           plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_QUANTIZEKERNELS_H
