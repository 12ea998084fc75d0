//===- RopeKernels.h - Kernels of rotary embeddings -------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_ROPEKERNELS_H
#define HONE_LIB_CODEGEN_CPU_ROPEKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// Kernel of a launch of one `hone.rope`: an item is a (batch, position, head).
/// By vectors where half the width is a multiple of kernelLanes, else element
/// by element. The output may be the input; buffers may be strided with
/// neighbours along the last dimension. Anything else is an error at the
/// launch.
mlir::FailureOr<Kernel> emitRope(mlir::OpBuilder &builder, llvm::StringRef name,
                                 plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_ROPEKERNELS_H
