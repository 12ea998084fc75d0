//===- SearchBound.h - Remarks of searches that stopped ---------*- C++ -*-===//
//
// docs/rationale/compile-time.md lists what searches, and its bound.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_SEARCHBOUND_H
#define HONE_IR_SEARCHBOUND_H

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/StringRef.h"

namespace hone {

/// How the remark of a pass begins that says that a search stopped at its
/// bound. honec --report lists these apart.
inline constexpr llvm::StringLiteral searchStopped =
    "search stopped at its bound: ";

/// Refuses negative bounds, which are options of a pass, with one line each.
template <typename... Options>
mlir::LogicalResult checkBounds(mlir::Location loc, const Options &...options) {
  bool areSound = true;
  auto check = [&](const auto &option) {
    if (option.getValue() >= 0)
      return;
    mlir::emitError(loc) << option.ArgStr << ": expected 0 or more, got "
                         << option.getValue();
    areSound = false;
  };
  (check(options), ...);
  return mlir::success(areSound);
}

} // namespace hone

#endif // HONE_IR_SEARCHBOUND_H
