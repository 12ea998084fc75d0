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
/// launched whole: how many of the run's collectives are done, in the order of
/// the program, is copied to memory of the host. A stream of its own copies, so
/// that neither the next collective nor what reads the result waits for it.
/// Where the main stream waits for a message of another stage is told likewise.
/// What waits is written into a log.
class CollectiveProgress {
public:
  explicit CollectiveProgress(const Program &program);
  ~CollectiveProgress();

  Status start(const Device &device);
  /// A run of `function` begins on the main stream, which records nothing.
  Status begin(const Function &function);
  /// `launch` is done at `done`; nothing for one that is not the program's.
  Status mark(const Launch &launch, const DeviceEvent &done);
  /// The main stream waits next for a message, which is done at `done`. `what`
  /// names it.
  Status await(const std::string &what, const DeviceEvent &done);
  /// The run ends: the main stream waits for all that was marked.
  Status end();
  /// All runs so far end with this step.
  void endStep() { ended.push_back(launched); }
  /// The oldest step that has ended is done.
  void collectStep();

  /// Brings the log up to date. Called by the watchdog's thread only.
  void look();
  /// Holds what was looked at: its numbers are not those of other ranks.
  const CollectiveLog &log() const { return entries; }

private:
  /// Of each collective between ranks, in the order of the function:
  /// "all_reduce dp of 4 kB at m.py:3 (2 of 5 in 'step')".
  using Places = std::vector<std::string>;

  /// What a GPU is in, in words, and a number that nothing else has; 0:
  /// nothing.
  struct Place {
    uint64_t key = 0;
    std::string text;
  };

  void describe(const Program &program, const Function &function);
  /// The message that the main stream waits for, or what the GPU does first of
  /// the collectives that it has not done.
  Place current() const;
  Status copyDown(int64_t to, int64_t from, int64_t count, CUstream onStream);
  Status tellAwait(uint32_t word);

  const Device *device = nullptr;
  CUstream stream = nullptr;
  DeviceEvent passed;    ///< the latest run's last mark
  DeviceEvent reached;   ///< the latest wait for a message
  bool isMarked = false; ///< something, since the run began
  std::map<const Function *, Places> placesOf;
  std::map<const Launch *, uint32_t> numberOf; ///< in its function, from 1
  /// The run's number, from 1, how many of its collectives are done, and of
  /// waits for messages, from 1, twice the number: one less until it is over.
  PinnedMemory pinned;
  /// What a run begins with (its number, 0), then the numbers from 1 on, last a
  /// word for waits.
  DeviceMemory table;
  uint32_t launched = 0; ///< runs
  uint32_t awaits = 0;   ///< of messages
  std::deque<uint32_t> ended;
  mutable std::mutex mutex;
  std::map<uint32_t, const Function *> running; ///< by the run's number
  std::map<uint32_t, std::string> awaited;      ///< by the wait's number

  // Of the watchdog's thread.
  CollectiveLog entries;
  uint64_t shown = 0; ///< key of a place
  int64_t shownNumber = 0;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_PROGRESS_H
