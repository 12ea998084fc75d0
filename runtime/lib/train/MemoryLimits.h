//===- MemoryLimits.h - How much memory a process may take ----------------===//

#ifndef HONERT_TRAIN_MEMORYLIMITS_H
#define HONERT_TRAIN_MEMORYLIMITS_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace honert {

/// What is left below one limit.
struct MemoryLimit {
  int64_t left;       ///< bytes; never negative
  std::string origin; ///< "this machine has", "ulimit -v leaves", ...
};

/// The limits that a process meets, as files of the system describe them.
struct MemoryLimits {
  /// On what is touched by all processes of the run on this machine: its memory
  /// and control groups (memory.max of version 2, memory.limit_in_bytes of
  /// version 1, of the process's own group and all above). Beyond them it is
  /// killed. What a group holds of files counts as free, for it gives way.
  std::vector<MemoryLimit> killing;
  /// The same, beyond which the machine becomes slow: memory that is available
  /// now, and memory.high.
  std::vector<MemoryLimit> slowing;
  /// On addresses that are in use, touched or not: RLIMIT_AS.
  std::vector<MemoryLimit> addresses;
  /// The same, but of memory that may be written to alone: RLIMIT_DATA.
  std::vector<MemoryLimit> data;
};

/// Those of this process. `root` is put before the names of files below /proc
/// and /sys (for tests).
MemoryLimits findMemoryLimits(const std::string &root = "");

/// What a process is about to take.
struct MemoryNeed {
  int64_t touched = 0;   ///< bytes
  int64_t beside = 0;    ///< bytes of addresses more, most never touched
  int64_t processes = 1; ///< of this machine that take the same
  int64_t files = 0;     ///< bytes of files that are mapped to be read
};

/// An error with the smallest limit that is below the need; `warning` is set
/// where the need fits, but the machine will be slow.
Status checkMemory(const MemoryLimits &limits, const MemoryNeed &need,
                   std::string &warning);

} // namespace honert

#endif // HONERT_TRAIN_MEMORYLIMITS_H
