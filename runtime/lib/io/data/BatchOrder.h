//===- BatchOrder.h - Which windows make up a batch -------------*- C++ -*-===//

#ifndef HONERT_IO_DATA_BATCHORDER_H
#define HONERT_IO_DATA_BATCHORDER_H

#include <cstdint>

namespace honert {

/// A permutation of [0, size) without memory: a Feistel network over the next
/// power of four, walked until it falls inside.
class Permutation {
public:
  Permutation(int64_t size, uint64_t key);
  int64_t operator()(int64_t index) const;

private:
  uint64_t size, key;
  int halfBits;
};

/// Which windows of a stream of n tokens make up batch i. A window is T tokens
/// and the one after them (the last target).
///
/// In order: batch i of an epoch reads tokens[i*B*T + b*T + t]; an epoch has
/// floor((n - 1) / (B*T)) batches. Shuffled: the floor((n - 1) / T) windows of
/// an epoch are visited in an order that depends on (seed, epoch), each exactly
/// once; a batch may hold the end of one epoch and the start of the next.
class BatchOrder {
public:
  BatchOrder(int64_t tokens, int64_t rows, int64_t columns, bool shuffle,
             uint64_t seed);

  /// First token of row `row` of batch `index`.
  int64_t windowBegin(int64_t index, int64_t row) const;
  /// Batches of one epoch, whole ones.
  int64_t batchesPerEpoch() const { return tokens / (rows * columns); }

private:
  int64_t tokens; // those that have a successor
  int64_t rows, columns;
  bool shuffle;
  uint64_t seed;
};

} // namespace honert

#endif // HONERT_IO_DATA_BATCHORDER_H
