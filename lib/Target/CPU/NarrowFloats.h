//===- NarrowFloats.h - bf16 and f16 in LLVM IR -----------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_CPU_NARROWFLOATS_H
#define HONE_LIB_TARGET_CPU_NARROWFLOATS_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace hone {

/// Rewrites what kernels do with bf16 and f16 so that every CPU has code for
/// it, and all give the same bits: those of the instructions for bf16, which
/// are used where there are some.
void lowerNarrowFloats(llvm::Module &module,
                       const llvm::TargetMachine &machine);

} // namespace hone

#endif // HONE_LIB_TARGET_CPU_NARROWFLOATS_H
