//===- DialectMarker.h - What every copy of the dialect holds ---*- C++ -*-===//

#ifndef HONE_IR_DIALECTMARKER_H
#define HONE_IR_DIALECTMARKER_H

#include "llvm/ADT/StringRef.h"

namespace hone {

/// Bytes that are in every file the dialect was linked into, and in no other.
llvm::StringRef dialectMarker();

} // namespace hone

#endif // HONE_IR_DIALECTMARKER_H
