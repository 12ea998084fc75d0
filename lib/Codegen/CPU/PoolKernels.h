//===- PoolKernels.h - Maxima over windows ----------------------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_CPU_POOLKERNELS_H
#define HONE_LIB_CODEGEN_CPU_POOLKERNELS_H

#include "Codegen/Common/Kernel.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// The kernel of a launch whose only op is a maximum over windows, or its
/// gradient, on vectors of channels: the generic kernel's bits. None for other
/// launches.
std::optional<Kernel> emitPool(mlir::OpBuilder &builder, llvm::StringRef name,
                               plan::LaunchOp launch);

} // namespace hone

#endif // HONE_LIB_CODEGEN_CPU_POOLKERNELS_H
