//===- Page.h - The page that draws a report --------------------*- C++ -*-===//

#ifndef HONE_REPORT_PAGE_H
#define HONE_REPORT_PAGE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone::report {

/// index.html.in with `json` in it, titled `title`.
std::string makePage(llvm::StringRef title, llvm::StringRef json);

} // namespace hone::report

#endif // HONE_REPORT_PAGE_H
