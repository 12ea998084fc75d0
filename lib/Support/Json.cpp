//===- Json.cpp - Reading JSON that a user gave ---------------------------===//

#include "hone/Support/Json.h"

#include "hone/Support/ParseFile.h"

using namespace hone;

/// Position of the bracket that opens level `maxJsonNesting + 1`, or npos.
static size_t findTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool isString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"')
      isString = !isString;
    else if (isString)
      at += c == '\\';
    else if (c == '[' || c == '{') {
      if (++depth > maxJsonNesting)
        return at;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return llvm::StringRef::npos;
}

llvm::Expected<llvm::json::Value> hone::parseJson(llvm::StringRef text) {
  if (size_t place = findTooDeep(text); place != llvm::StringRef::npos)
    return makeError("nests " + llvm::Twine(maxJsonNesting + 1) +
                     " levels deep at byte " + llvm::Twine(place) +
                     ", expected at most " + llvm::Twine(maxJsonNesting));
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return makeError("is not JSON: " + llvm::toString(value.takeError()));
  return value;
}
