//===- Arena.h - The one block of memory a program runs in ----------------===//

#ifndef HONERT_BASE_ARENA_H
#define HONERT_BASE_ARENA_H

#include "base/Status.h"

#include <cstdint>

namespace honert {

/// Zeroed memory aligned to 2 MiB, in huge pages where the system gives them.
class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Reserves `bytes`, which `what` names in errors ("the arena"). Refuses
  /// more than the machine has. To be called once.
  Status allocate(int64_t bytes, const char *what);

  /// Puts `bytes` more behind what allocate() or reserve() reserves, from
  /// `offset` on, a multiple of 2 MiB. To be called before these, whose errors
  /// name both.
  void placeBehind(int64_t offset, int64_t bytes);
  /// The same, and it is the beginning of an open file: what is written there
  /// is written to the file.
  void placeFile(int file, int64_t offset, int64_t bytes);
  /// These bytes are not needed soon: those in the file leave the process, not
  /// the file. Others stay.
  void pass(int64_t offset, int64_t bytes) const;

  /// As allocate(), for a view of memory that lies elsewhere: only the pages
  /// that are touched cost memory, so it may be larger than the machine's.
  Status reserve(int64_t bytes, const char *what);
  /// Child processes do not have the memory: none of its pages is copied when
  /// this process writes to it while they live.
  void keepFromChildren();
  /// Lets go of the pages that lie in these bytes only; read again, they are
  /// zero.
  void release(int64_t offset, int64_t bytes);

  char *at(int64_t offset) const { return base + offset; }
  int64_t bytes() const { return size; }

private:
  Status map(int64_t bytes, const char *what);
  Status mapFile(const char *what);

  char *base = nullptr;
  int64_t size = 0;
  void *mapping = nullptr;
  int64_t mappedBytes = 0;
  int file = -1; ///< not owned; what is behind, if any
  int64_t behindOffset = 0, behindBytes = 0;
};

} // namespace honert

#endif // HONERT_BASE_ARENA_H
