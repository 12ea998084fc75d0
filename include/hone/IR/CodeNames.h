//===- CodeNames.h - What codes of weights are called -----------*- C++ -*-===//
//
// Codes of a weight and their scales are working copies with names of their
// own, "<weight>:codes" and "<weight>:scales". No parameter has such a name.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_CODENAMES_H
#define HONE_IR_CODENAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

/// The function that makes codes of parameters that were loaded.
constexpr llvm::StringLiteral fillCodesName = "fill_codes";

/// The name of a working copy of `weight`: `what` is "codes" or "scales", with
/// an end that tells one form from another.
inline std::string codeName(llvm::StringRef weight, llvm::StringRef what) {
  return (weight + ":" + what).str();
}

/// The weight whose codes or scales have this name; "": none.
inline llvm::StringRef weightOfCodes(llvm::StringRef name) {
  auto [weight, what] = name.rsplit(':');
  return what.starts_with("codes") || what.starts_with("scales")
             ? weight
             : llvm::StringRef();
}

} // namespace hone

#endif // HONE_IR_CODENAMES_H
