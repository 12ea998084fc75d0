//===- Json.h - Reading JSON that a user gave -------------------*- C++ -*-===//

#ifndef HONE_SUPPORT_JSON_H
#define HONE_SUPPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace hone {

/// Deepest nesting of arrays and objects that is read. LLVM's parser recurses
/// once per level and overflows the stack at some ten thousand.
constexpr unsigned maxJsonNesting = 64;

/// What `text` says. The error begins with a verb, for a file's name in front:
/// "is not JSON: [1:0, byte=0]: Unexpected EOF". Nothing else calls
/// llvm::json::parse.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace hone

#endif // HONE_SUPPORT_JSON_H
