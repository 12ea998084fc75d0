//===- Watchdog.h - Ends a process whose wait exceeds the timeout ---------===//

#ifndef HONERT_COMM_GROUP_WATCHDOG_H
#define HONERT_COMM_GROUP_WATCHDOG_H

#include "base/Status.h"
#include "program/CollectiveLog.h"

#include <condition_variable>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace honert {

/// `text`, each line behind `prefix`, in pieces of whole lines that a pipe
/// takes as one: what several ranks write does not mix within a line.
std::vector<std::string> piecesOf(const std::string &text,
                                  const std::string &prefix);

/// A thread that watches the waits of a process. A wait longer than `timeout`
/// ends the process: one line and the log on stderr, exit code 1. A stop signal
/// during a wait, which a launcher sends when another rank has ended, only
/// prints what the process waits for, since the signal may have another reason.
/// Time in which the process itself was stopped does not count.
class Watchdog {
public:
  /// What the library that communicates adds.
  struct Hooks {
    /// An error of the library since the last call; success while all is well.
    /// Ends the process as a wait does.
    std::function<Status()> poll;
    /// The last thing done before the process ends. Must return soon.
    std::function<void()> abort;
  };

  /// `timeout` in seconds; 0: no limit. The log outlives the watchdog.
  Watchdog(const CollectiveLog &log, int64_t rank, double timeout,
           Hooks hooks = {});
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  void watch();
  void look();
  double secondsOf(const CollectiveLog::Wait &wait, double sinceLastLook);
  [[noreturn]] void end(const std::string &line);

  const CollectiveLog &log;
  const int64_t rank;
  const double timeout;
  const Hooks hooks;
  CollectiveLog::Clock::time_point lastLook = CollectiveLog::Clock::now();
  int64_t lastWait = 0;  ///< number of what was waited for at the last look
  double stoodStill = 0; ///< seconds of that wait
  bool toldSignal = false;
  bool isOver = false;
  std::mutex mutex;
  std::condition_variable over;
  std::thread thread;
};

} // namespace honert

#endif // HONERT_COMM_GROUP_WATCHDOG_H
