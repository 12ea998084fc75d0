//===- Page.cpp - The page that draws a report ----------------------------===//

#include "Page.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/JSON.h"

using namespace hone::report;
using llvm::StringRef;

// CMake makes literals of index.html.in and page.js (EmbedText.cmake).
static constexpr llvm::StringLiteral pageTemplate =
#include "index.html.inc"
    ;
static constexpr llvm::StringLiteral program =
#include "page.js.inc"
    ;

std::string hone::report::escapeMarkup(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(llvm::json::fixUTF8(text), stream);
  return escaped;
}

/// `json` as base64 of zlib's format, which browsers decompress themselves: the
/// text of a model's IR is ten times as long. Nothing in it is markup.
static std::string compress(StringRef json) {
  llvm::SmallVector<uint8_t, 0> bytes;
  llvm::compression::zlib::compress(
      llvm::arrayRefFromStringRef(json), bytes,
      llvm::compression::zlib::BestSizeCompression);
  return llvm::encodeBase64(bytes);
}

std::string hone::report::makePage(StringRef title, StringRef json) {
  std::string page;
  StringRef rest = pageTemplate;
  auto fill = [&](StringRef mark, const std::string &text) {
    auto [before, after] = rest.split(mark);
    assert(!after.empty() && "the template has the mark");
    page += before;
    page += text;
    rest = after;
  };
  fill("@TITLE@", escapeMarkup(title));
  fill("@DATA@", compress(json));
  fill("@PROGRAM@", program.str());
  return page + rest.str();
}

std::string hone::report::makeStaticPage(StringRef title, StringRef body) {
  // Up to the body, with the styles of other pages.
  auto [head, rest] = pageTemplate.split("<body>");
  auto [before, after] = head.split("@TITLE@");
  return (before + escapeMarkup(title) + after + "<body>\n<main>\n" + body +
          "</main>\n</body>\n</html>\n")
      .str();
}
