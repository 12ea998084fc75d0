//===- Philox.h - Counter-based random numbers ----------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
// as 1, 2, 3; SC'11): four random words from a counter and a key, no state.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_PHILOX_H
#define HONERT_BASE_PHILOX_H

#include <array>
#include <cstdint>

namespace honert {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

inline PhiloxKey philoxKey(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

} // namespace honert

#endif // HONERT_BASE_PHILOX_H
