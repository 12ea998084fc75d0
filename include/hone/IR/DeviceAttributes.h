//===- DeviceAttributes.h - Attributes of a GPU's kernels -------*- C++ -*-===//

#ifndef HONE_IR_DEVICEATTRIBUTES_H
#define HONE_IR_DEVICEATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace hone::attr {

/// On a kernel: it has at least so many instructions (an integer; without a
/// value 1) that access 16 bytes of global memory, which emitPtx checks.
constexpr llvm::StringLiteral vectorised = "hone.vectorised";

} // namespace hone::attr

#endif // HONE_IR_DEVICEATTRIBUTES_H
