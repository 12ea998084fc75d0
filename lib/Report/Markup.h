//===- Markup.h - Text in HTML and XML ------------------------*- C++ -*-===//

#ifndef HONE_REPORT_MARKUP_H
#define HONE_REPORT_MARKUP_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace honec {

/// `text` as it stands in HTML and XML.
std::string escapeMarkup(llvm::StringRef text);

} // namespace honec

#endif // HONE_REPORT_MARKUP_H
