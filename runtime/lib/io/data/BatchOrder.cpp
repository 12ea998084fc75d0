//===- BatchOrder.cpp - Which windows make up a batch ---------------------===//

#include "io/data/BatchOrder.h"

#include <utility>

using namespace honert;

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA'14).
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

Permutation::Permutation(int64_t size, uint64_t key)
    : size(static_cast<uint64_t>(size)), key(key), halfBits(1) {
  while (halfBits < 31 && (uint64_t{1} << 2 * halfBits) < this->size)
    ++halfBits;
}

int64_t Permutation::operator()(int64_t index) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t mixed = scramble(scramble(key + round) ^ right) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    value = left << halfBits | right;
  } while (value >= size);
  return static_cast<int64_t>(value);
}

BatchOrder::BatchOrder(int64_t tokens, int64_t rows, int64_t columns,
                       bool shuffle, uint64_t seed)
    : tokens(tokens - 1), rows(rows), columns(columns), shuffle(shuffle),
      seed(seed) {}

int64_t BatchOrder::windowBegin(int64_t index, int64_t row) const {
  if (!shuffle)
    return (index % batchesPerEpoch() * rows + row) * columns;
  int64_t windows = tokens / columns;
  int64_t position = index * rows + row;
  auto epoch = static_cast<uint64_t>(position / windows);
  Permutation permutation(windows, scramble(seed) + scramble(~epoch));
  return permutation(position % windows) * columns;
}
