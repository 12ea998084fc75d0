//===- RunLog.h - What a run writes line by line --------------------------===//

#ifndef HONERT_TRAIN_RUNLOG_H
#define HONERT_TRAIN_RUNLOG_H

#include "base/Status.h"

#include <cstdint>
#include <cstdio>

namespace honert {

/// The file of --log: a JSON object per line. A line begins with "run" (one for
/// each process that worked on the run) or with the "step" that it is about.
class RunLog {
public:
  RunLog() = default;
  ~RunLog();
  RunLog(const RunLog &) = delete;
  RunLog &operator=(const RunLog &) = delete;

  /// Opens `path`: empty, or, for a run that goes on after `doneSteps`, holding
  /// the lines up to that step.
  Status open(const std::string &path, bool resume, int64_t doneSteps);
  bool isOpen() const { return file; }
  /// Writes `members` as an object. After the first failure the file is closed.
  Status write(const std::string &members);

private:
  std::string path;
  std::FILE *file = nullptr;
};

} // namespace honert

#endif // HONERT_TRAIN_RUNLOG_H
