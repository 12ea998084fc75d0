//===- Markup.cpp - Text in HTML and XML ----------------------------------===//

#include "Markup.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

std::string honec::escapeMarkup(llvm::StringRef text) {
  std::string clean = llvm::json::fixUTF8(text);
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < ' ')
      c = ' '; // XML has no other control characters
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(clean, stream);
  return escaped;
}
