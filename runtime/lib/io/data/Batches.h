//===- Batches.h - From a token stream to batches -------------------------===//

#ifndef HONERT_IO_DATA_BATCHES_H
#define HONERT_IO_DATA_BATCHES_H

#include "io/data/BatchOrder.h"
#include "io/data/Mixture.h"
#include "io/data/TokenSource.h"
#include "io/data/TokenStream.h"
#include "program/Parts.h"
#include "program/ProcessGroup.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace honert {

/// Feeds the token and target inputs of a program with what this rank has of
/// each batch. Batches are those of all ranks: which windows are in one does
/// not depend on the mesh. The rows of the batches of a mixture are its windows
/// one after the other; each source has its own order of them.
class Batches {
public:
  Batches() = default;
  ~Batches();
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;

  /// Opens the files of `sources` for the inputs of `program`; checks their
  /// lengths, and the ids of this rank's share of them: a wrong one is an error
  /// of one rank.
  Status open(const std::vector<TokenSource> &sources, const Program &program,
              const ProcessGroup &world, bool shuffle, uint64_t seed,
              const ThreadPool &pool, const ReadProgress &progress = {});

  /// Starts a thread that reads batches ahead, two at most, from `index` on.
  void prefetchFrom(int64_t index);

  /// Writes batch `index` into the inputs in the arena. After prefetchFrom()
  /// the indices must follow each other. Fails where ids are no longer those
  /// that open() has checked.
  Status load(int64_t index, char *arena);

  /// 0 before a file is open, and of a mixture, whose sources have epochs of
  /// their own.
  int64_t batchesPerEpoch() const {
    return sources.size() == 1 ? sources.front().order.batchesPerEpoch() : 0;
  }
  /// Of all sources.
  int64_t tokens() const;
  int64_t tokensOf(size_t source) const {
    return sources[source].stream.size();
  }
  /// How often `count` batches pass over a source.
  double passesOver(size_t source, int64_t count) const;

private:
  /// An input, and which positions of a batch this rank has of it.
  struct Input {
    const Argument *argument;
    PartLayout layout;
    int64_t shift; ///< of its ids in the stream: 1 for targets
  };
  struct Source {
    TokenStream stream;
    BatchOrder order; ///< of a mixture's: in batches of one row
  };
  /// Tokens of a source.
  struct Window {
    const TokenStream *stream;
    int64_t begin;
  };
  /// One batch in the element types of the inputs.
  struct Slot {
    int64_t index = -1;
    std::vector<std::vector<char>> inputs;
    Status status; ///< of reading them
  };

  Status openSource(const TokenSource &source, bool shuffle, uint64_t seed);
  Window windowOf(int64_t index, int64_t row) const;
  /// Writes what this rank has of a batch to where each input begins.
  Status fill(int64_t index, const std::vector<char *> &targets) const;
  Status fillRow(const Input &input, const TokenStream &stream, int64_t begin,
                 int64_t place, int64_t count, char *target) const;
  void readAhead(int64_t index);

  IdBounds ids;                  // those that all inputs take
  std::vector<Input> inputs;     // every one that has a role
  int64_t rows = 0, columns = 0; // of a batch of all ranks
  std::vector<Source> sources;
  Mixture mixture; // of several sources

  std::thread reader;
  std::mutex mutex;
  std::condition_variable changed;
  Slot slots[2];     // batch i waits in slot i % 2
  bool stop = false; // guarded by mutex, as the indices of slots
};

} // namespace honert

#endif // HONERT_IO_DATA_BATCHES_H
