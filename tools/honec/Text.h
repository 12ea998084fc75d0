//===- Text.h - Numbers and names as they are printed -----------*- C++ -*-===//

#ifndef HONEC_TEXT_H
#define HONEC_TEXT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace honec {

/// "1.50 GiB", "12.0 KiB", "640 B".
std::string formatBytes(int64_t bytes);

/// `text` as it stands in HTML and XML.
std::string escapeMarkup(llvm::StringRef text);

} // namespace honec

#endif // HONEC_TEXT_H
