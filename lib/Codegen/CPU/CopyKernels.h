//===- CopyKernels.h - Kernels that only move elements ----------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_COPYKERNELS_H
#define HONE_LIB_CODEGEN_CPU_COPYKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

#include <optional>

namespace hone {

/// Kernel of a launch that is one transpose, slice, pad or concat of contiguous
/// buffers, by vectors; none where no run of elements stays together.
std::optional<Kernel> emitCopy(mlir::OpBuilder &builder, llvm::StringRef name,
                               plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_COPYKERNELS_H
