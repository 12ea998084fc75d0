//===- CollectiveLog.h - The latest collectives of a process --------------===//

#ifndef HONERT_PROGRAM_COLLECTIVELOG_H
#define HONERT_PROGRAM_COLLECTIVELOG_H

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace honert {

/// What a process exchanges with others, in order, and what it waits for. One
/// thread writes; a watchdog reads.
class CollectiveLog {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kept = 32;

  struct Entry {
    int64_t number = 0; ///< from 1; ranks of one stage count the same
    int64_t step = 0;   ///< 0: before the first
    std::string what;
    Clock::time_point begun, ended;
    bool isDone = false;
  };

  /// A wait that has not ended.
  struct Wait {
    Entry entry;
    double seconds;
    int64_t peer; ///< the rank that has not come; -1: unknown
  };

  /// What begins from now on belongs to `step`.
  void setStep(int64_t step);
  /// Notes that `what` begins; returns its number.
  int64_t begin(const std::string &what);
  /// The process waits in entry `number` from now on, for `peer`. Said again of
  /// the same entry, the wait goes on and only the peer changes.
  void wait(int64_t number, int64_t peer = -1);
  /// Entry `number` is done; nothing waits in it.
  void end(int64_t number);

  std::optional<Wait> waiting() const;
  /// The entries kept, a line each, the latest last.
  std::string text() const;

private:
  Entry &at(int64_t number) { return entries[number % kept]; }

  mutable std::mutex mutex;
  std::array<Entry, kept> entries;
  int64_t latest = 0, step = 0;
  int64_t waitsIn = 0, peer = -1; // an entry's number, or 0
  Clock::time_point waitsSince;
};

/// `name` in about 80 characters; what it ends in after " and " stays, as in
/// "wte and 12 more".
std::string shortName(const std::string &name);

/// "'all_reduce tp' (number 17, step 3)", as messages name an entry.
std::string toString(const CollectiveLog::Entry &entry);

} // namespace honert

#endif // HONERT_PROGRAM_COLLECTIVELOG_H
