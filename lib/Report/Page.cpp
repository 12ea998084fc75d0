//===- Page.cpp - The page that draws a report ----------------------------===//

#include "Page.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace hone::report;
using llvm::StringRef;

/// index.html.in, which CMake makes a literal of (EmbedText.cmake).
static constexpr llvm::StringLiteral pageTemplate =
#include "index.html.inc"
    ;

static std::string escapeMarkup(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(llvm::json::fixUTF8(text), stream);
  return escaped;
}

/// In JSON "<" stands in strings only. Without it nothing there ends the script
/// element that holds the data.
static std::string escapeScript(StringRef json) {
  std::string escaped;
  for (char c : json)
    escaped += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return escaped;
}

std::string hone::report::makePage(StringRef title, StringRef json) {
  auto [head, rest] = pageTemplate.split("@TITLE@");
  auto [body, tail] = rest.split("@DATA@");
  assert(!body.empty() && !tail.empty() && "the template has both marks");
  return (head + escapeMarkup(title) + body + escapeScript(json) + tail).str();
}
