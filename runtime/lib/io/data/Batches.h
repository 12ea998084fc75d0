//===- Batches.h - From a token stream to batches -------------------------===//

#ifndef HONERT_IO_DATA_BATCHES_H
#define HONERT_IO_DATA_BATCHES_H

#include "io/data/TokenFile.h"
#include "program/Parts.h"
#include "program/ProcessGroup.h"

#include <condition_variable>
#include <mutex>
#include <thread>

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

/// Feeds the token and target inputs of a program with what this rank has of
/// each batch. Batches are those of all ranks: which windows are in one does
/// not depend on the mesh.
class Batches {
public:
  Batches() = default;
  ~Batches();
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;

  /// Opens `path` for the inputs of `program`; checks the length, and the ids
  /// of this rank's share of the file: a wrong one is an error of one rank.
  Status open(const std::string &path, const Program &program,
              const ProcessGroup &world, bool shuffle, uint64_t seed,
              const ThreadPool &pool, const ReadProgress &progress = {});

  /// Starts a thread that reads batches ahead, two at most, from `index` on.
  void prefetchFrom(int64_t index);

  /// Writes batch `index` into the inputs in the arena. After prefetchFrom()
  /// the indices must follow each other. Fails where ids are no longer those
  /// that open() has checked.
  Status load(int64_t index, char *arena);

  /// 0 before a file is open.
  int64_t batchesPerEpoch() const {
    return order ? order->batchesPerEpoch() : 0;
  }
  const TokenFile &stream() const { return file; }

private:
  /// An input, and which positions of a batch this rank has of it.
  struct Input {
    const Argument *argument;
    PartLayout layout;
    int64_t shift; ///< of its ids in the stream: 1 for targets
  };
  /// One batch in the element types of the inputs.
  struct Slot {
    int64_t index = -1;
    std::vector<std::vector<char>> inputs;
    Status status; ///< of reading them
  };

  /// Writes what this rank has of a batch to where each input begins.
  Status fill(int64_t index, const std::vector<char *> &targets) const;
  Status fillRow(const Input &input, int64_t begin, int64_t place,
                 int64_t count, char *target) const;
  void readAhead(int64_t index);

  TokenFile file;
  IdBounds ids;                  // those that all inputs take
  std::vector<Input> inputs;     // every one that has a role
  int64_t rows = 0, columns = 0; // of a batch of all ranks
  std::unique_ptr<BatchOrder> order;

  std::thread reader;
  std::mutex mutex;
  std::condition_variable changed;
  Slot slots[2];     // batch i waits in slot i % 2
  bool stop = false; // guarded by mutex, as the indices of slots
};

} // namespace honert

#endif // HONERT_IO_DATA_BATCHES_H
