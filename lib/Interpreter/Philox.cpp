//===- Philox.cpp - Counter-based random numbers --------------------------===//

#include "hone/Interpreter/Philox.h"

using namespace hone::interp;

std::array<uint32_t, 4> hone::interp::philox(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round != 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

bool RandomPlace::isPart() const {
  int64_t rest = origin;
  for (size_t dim = whole.size(); dim-- != 0;) {
    if (part[dim] == 0)
      return true; // without elements, it begins anywhere
    if (rest % whole[dim] % part[dim] != 0)
      return false;
    rest /= whole[dim];
  }
  return origin >= 0 && rest == 0;
}

int64_t RandomPlace::numberOf(int64_t index) const {
  int64_t number = origin, stride = 1;
  for (size_t dim = whole.size(); dim-- != 0;) {
    number += index % part[dim] * stride;
    index /= part[dim];
    stride *= whole[dim];
  }
  return number + index; // of the whole itself, all is left
}

uint32_t PhiloxStream::word(int64_t index) {
  index = place.numberOf(index);
  if (index / 4 != block) {
    block = index / 4;
    words = philox(
        {uint32_t(block), uint32_t(salt), uint32_t(step), uint32_t(micro)},
        {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)});
  }
  return words[index % 4];
}
