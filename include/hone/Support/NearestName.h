//===- NearestName.h - What a misspelt name was meant to be -----*- C++ -*-===//

#ifndef HONE_SUPPORT_NEARESTNAME_H
#define HONE_SUPPORT_NEARESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace hone {

/// The one of `names` that `name` is most likely a misspelling of; "" if none
/// is near: more than a third of the letters would have to change.
llvm::StringRef nearestName(llvm::StringRef name,
                            llvm::ArrayRef<llvm::StringRef> names);

/// "; did you mean NEAREST?", to end a message with, or "".
std::string suggestName(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> names);

/// `list`, "a, b or c", and which of its words `name` may have meant. What has
/// spaces is no word: "a, b or a number of rows" has two.
std::string suggestWord(llvm::StringRef name, const llvm::Twine &list);

/// Whether `name` is a word of such a list.
bool isWordOf(llvm::StringRef name, llvm::StringRef list);

} // namespace hone

#endif // HONE_SUPPORT_NEARESTNAME_H
