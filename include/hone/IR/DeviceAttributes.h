//===- DeviceAttributes.h - Attributes of a GPU's kernels -------*- C++ -*-===//

#ifndef HONE_IR_DEVICEATTRIBUTES_H
#define HONE_IR_DEVICEATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace hone::attr {

/// On a kernel: it reads and writes global memory in accesses of 16 bytes,
/// which emitPtx checks.
constexpr llvm::StringLiteral vectorised = "hone.vectorised";

} // namespace hone::attr

#endif // HONE_IR_DEVICEATTRIBUTES_H
