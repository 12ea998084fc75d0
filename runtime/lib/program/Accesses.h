//===- Accesses.h - What a launch reads and writes --------------*- C++ -*-===//

#ifndef HONERT_PROGRAM_ACCESSES_H
#define HONERT_PROGRAM_ACCESSES_H

#include "program/Program.h"

namespace honert {

/// Bytes of the arena.
struct ArenaRange {
  int64_t begin, end;
};

/// What a launch may touch, each range perhaps with bytes that it does not.
struct Accesses {
  bool isKnown = true; ///< false: it may be anything
  std::vector<ArenaRange> reads, writes;

  /// Whether the order of both changes what either computes.
  bool conflictsWith(const Accesses &other) const;
};

/// That of a launch for a GPU. Of collectives, and of kernels whose reads the
/// program does not describe, it is not known.
Accesses accessesOf(const Launch &launch);

} // namespace honert

#endif // HONERT_PROGRAM_ACCESSES_H
