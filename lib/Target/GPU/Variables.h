//===- Variables.h - Variables of device code -------------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_GPU_VARIABLES_H
#define HONE_LIB_TARGET_GPU_VARIABLES_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Module.h"

namespace hone {

/// Address space of memory that the threads of a block share.
constexpr unsigned sharedSpace = 3;

/// Shared memory of a block that a kernel gets without asking the driver.
constexpr uint64_t maxSharedBytes = 48 << 10;

/// Adds the functions that hold a use of `value`.
void collectUsers(llvm::Value *value,
                  llvm::SmallPtrSetImpl<llvm::Function *> &functions);

/// Bytes of the shared variables that `function` uses.
uint64_t countSharedBytes(llvm::Function &function);

} // namespace hone

#endif // HONE_LIB_TARGET_GPU_VARIABLES_H
