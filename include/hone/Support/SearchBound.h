//===- SearchBound.h - Remarks of searches that stopped ---------*- C++ -*-===//
//
// docs/rationale/compile-time.md lists what searches, and its bound.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_SUPPORT_SEARCHBOUND_H
#define HONE_SUPPORT_SEARCHBOUND_H

#include "llvm/ADT/StringRef.h"

namespace hone {

/// How the remark of a pass begins that says that a search stopped at its
/// bound. honec --report lists these apart.
inline constexpr llvm::StringLiteral searchStopped =
    "search stopped at its bound: ";

} // namespace hone

#endif // HONE_SUPPORT_SEARCHBOUND_H
