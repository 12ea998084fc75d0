//===- Ptx.h - Facts about PTX text -----------------------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_GPU_PTX_H
#define HONE_LIB_TARGET_GPU_PTX_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

/// The first function that `ptx` declares and does not define, or "".
std::string findExternalFunction(llvm::StringRef ptx);

/// The text of kernel `name`, between its braces; "" if there is none.
llvm::StringRef bodyOf(llvm::StringRef ptx, llvm::StringRef name);

/// How many loads and stores of kernel `name` move 16 bytes or more to or from
/// global memory.
int64_t countWideAccesses(llvm::StringRef ptx, llvm::StringRef name);

} // namespace hone

#endif // HONE_LIB_TARGET_GPU_PTX_H
