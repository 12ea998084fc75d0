//===- RunLog.cpp - What a run writes line by line ------------------------===//

#include "train/RunLog.h"
#include "base/Files.h"

#include <string_view>
#include <unistd.h>
#include <utility>

using namespace honert;

RunLog::~RunLog() {
  if (file)
    std::fclose(file);
}

/// The step that a line is about; 0 for what a process says of itself, -1 if
/// the line is none of ours.
static long long stepOf(std::string_view line) {
  long long step;
  std::string text(line);
  if (text.rfind("{\"run\":", 0) == 0)
    return 0;
  return std::sscanf(text.c_str(), "{\"step\":%lld,", &step) == 1 ? step : -1;
}

/// Cuts off the lines of steps that will be done again, and half a line.
static Status trim(const std::string &path, int64_t doneSteps) {
  MappedFile old;
  HONERT_TRY(old.open(path));
  std::string_view text = old.view();
  size_t keep = 0;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos)
      break;
    long long step = stepOf(text.substr(begin, end - begin));
    if (step < 0 || step > doneSteps)
      break;
    keep = end + 1;
  }
  if (truncate(path.c_str(), static_cast<off_t>(keep)) != 0)
    return systemError(path, "cannot be shortened");
  return Status();
}

Status RunLog::open(const std::string &name, bool resume, int64_t doneSteps) {
  path = name;
  if (resume && isRegularFile(path))
    HONERT_TRY(trim(path, doneSteps));
  file = std::fopen(path.c_str(), resume ? "ae" : "we");
  return file ? Status() : systemError(path, "cannot be written");
}

Status RunLog::write(const std::string &members) {
  std::fprintf(file, "{%s}\n", members.c_str());
  if (std::fflush(file) == 0 && !std::ferror(file))
    return Status();
  Status failed = systemError(path, "cannot be written");
  std::fclose(std::exchange(file, nullptr));
  return failed;
}
