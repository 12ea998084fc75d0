//===- Progress.h - Which collective a GPU is in --------------------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_PROGRESS_H
#define HONERT_EXEC_CUDA_COLLECTIVES_PROGRESS_H

#include "exec/cuda/core/Device.h"
#include "program/CollectiveLog.h"
#include "program/Program.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace honert {

/// Tells a watchdog how far the GPU has come, in functions that the host has
/// launched whole: after each collective its stream copies the number done to
/// memory of the host. What waits is written into a log.
class CollectiveProgress {
public:
  /// `lines` are the lists of axes that collectives go along, each with a
  /// stream.
  CollectiveProgress(const Program &program, const std::vector<Axes> &lines);

  Status start(const Device &device);
  /// A run of `function` begins on the main stream, which records nothing.
  Status begin(const Function &function);
  /// `launch`, which was put on `stream`, is done when this passes; nothing for
  /// one that is not the program's.
  Status mark(const Launch &launch, CUstream stream);
  /// All runs so far end with this step.
  void endStep() { ended.push_back(launched); }
  /// The oldest step that has ended is done.
  void collectStep();

  /// Brings the log up to date. Called by the watchdog's thread only.
  void look();
  /// Holds what was looked at: its numbers are not those of other ranks.
  const CollectiveLog &log() const { return entries; }

private:
  /// A collective between ranks.
  struct Place {
    size_t line;
    uint32_t number;  ///< in its line, from 1
    std::string text; ///< "all_reduce dp of 4 kB at m.py:3 (2 of 5 in 'step')"
  };
  using Places = std::vector<Place>;

  void describe(const Program &program, const Function &function,
                const std::vector<Axes> &lists);
  /// What the GPU does first of what it has not done, and the run's number;
  /// null: nothing is left.
  const Place *current(uint32_t &run) const;
  Status copyDown(int64_t to, int64_t from, int64_t count, CUstream stream);

  const Device *device = nullptr;
  const size_t lines;
  std::map<const Function *, Places> placesOf;
  std::map<const Launch *, std::pair<const Function *, size_t>> placeOf;
  /// The run's number, from 1, and what each line has done of it.
  PinnedMemory pinned;
  /// What a run begins with (its number, zeros), then the numbers from 0 on.
  DeviceMemory table;
  uint32_t launched = 0; ///< runs
  std::deque<uint32_t> ended;
  mutable std::mutex mutex;
  std::map<uint32_t, const Function *> running; ///< by the run's number

  // Of the watchdog's thread.
  CollectiveLog entries;
  std::pair<uint32_t, const Place *> shown = {0, nullptr};
  int64_t shownNumber = 0;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_PROGRESS_H
