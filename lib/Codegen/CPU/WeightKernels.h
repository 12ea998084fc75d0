//===- WeightKernels.h - Kernels that expand weights in codes ---*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_WEIGHTKERNELS_H
#define HONE_LIB_CODEGEN_CPU_WEIGHTKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Kernel of a launch of family data_movement. One dequantize of contiguous
/// buffers whose rows and blocks are whole numbers of vectors has a kernel of
/// vectors, so has one quantize; anything else is emitPoint's.
mlir::FailureOr<Kernel> emitMovement(mlir::OpBuilder &builder,
                                     llvm::StringRef name,
                                     plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_WEIGHTKERNELS_H
