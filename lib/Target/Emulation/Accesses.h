//===- Accesses.h - Checks before accesses to memory ------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_EMULATION_ACCESSES_H
#define HONE_LIB_TARGET_EMULATION_ACCESSES_H

#include "llvm/IR/Module.h"

namespace hone {

/// Calls `honemu_access` before each access to memory in device code, except to
/// a thread's own stack.
void checkAccesses(llvm::Module &module);

} // namespace hone

#endif // HONE_LIB_TARGET_EMULATION_ACCESSES_H
