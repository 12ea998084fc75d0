//===- Fnv.h - The hash FNV-1a ----------------------------------*- C++ -*-===//

#ifndef HONERT_BASE_FNV_H
#define HONERT_BASE_FNV_H

#include <cstdint>
#include <string_view>

namespace honert {

/// FNV-1a, 64 bits (Fowler, Noll, Vo): finds differences by mistake, not by
/// malice. Executables hold its values (`weights_id` in abi.def), and it
/// decides which random numbers an argument draws: it never changes.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

} // namespace honert

#endif // HONERT_BASE_FNV_H
