//===- Printable.cpp - Text that may go to a terminal ---------------------===//

#include "base/Printable.h"

#include <cstdio>

using namespace honert;

/// Bytes of the UTF-8 character that `text` begins with, 0 if it begins with
/// none. Overlong forms and surrogates count as characters: terminals show them
/// as one mark.
static size_t characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0x80             ? 1
                  : (byte(0) & 0xe0) == 0xc0 ? 2
                  : (byte(0) & 0xf0) == 0xe0 ? 3
                  : (byte(0) & 0xf8) == 0xf0 ? 4
                                             : 0;
  if (length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  return length;
}

/// Control characters: C0, DEL and C1, the latter as UTF-8 (C2 80 to C2 9F).
static bool isControl(std::string_view character) {
  auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7f)
    return true;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string honert::printable(std::string_view text) {
  constexpr size_t most = 2000, head = 1200, tail = 600;
  std::string shown;
  while (!text.empty()) {
    size_t length = characterLength(text);
    if (length > 0 && !isControl(text.substr(0, length))) {
      shown += text.substr(0, length);
    } else {
      length = length == 0 ? 1 : length;
      for (char c : text.substr(0, length)) {
        char escape[5];
        std::snprintf(escape, sizeof escape, "\\x%02x",
                      static_cast<unsigned char>(c));
        shown += escape;
      }
    }
    text.remove_prefix(length);
  }
  if (shown.size() <= most)
    return shown;
  // A cut must not leave half a character at either side.
  auto isInside = [&](size_t i) {
    return (static_cast<unsigned char>(shown[i]) & 0xc0) == 0x80;
  };
  size_t end = head, begin = shown.size() - tail;
  while (isInside(end))
    --end;
  while (isInside(begin))
    ++begin;
  return shown.substr(0, end) + " ... " + shown.substr(begin);
}
