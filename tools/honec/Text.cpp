//===- Text.cpp - Numbers and names as they are printed -------------------===//

#include "Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using llvm::formatv;
using llvm::StringRef;

std::string honec::formatBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return unit == 0 ? formatv("{0} B", bytes).str()
                   : formatv("{0:F2} {1}", value, units[unit]).str();
}

std::string honec::escapeMarkup(StringRef text) {
  std::string clean = llvm::json::fixUTF8(text);
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < ' ')
      c = ' '; // XML has no other control characters
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(clean, stream);
  return escaped;
}
