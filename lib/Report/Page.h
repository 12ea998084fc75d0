//===- Page.h - The page that draws a report --------------------*- C++ -*-===//

#ifndef HONE_REPORT_PAGE_H
#define HONE_REPORT_PAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone::report {

/// index.html.in with `json` in it, titled `title`.
std::string makePage(llvm::StringRef title, llvm::StringRef json);

/// `text` as it may stand in markup.
std::string escapeMarkup(llvm::StringRef text);
/// A page with the same styles that needs no program.
std::string makeStaticPage(llvm::StringRef title, llvm::StringRef body);

} // namespace hone::report

#endif // HONE_REPORT_PAGE_H
