//===- CollectiveLog.cpp - The latest collectives of a process ------------===//

#include "program/CollectiveLog.h"
#include "base/Status.h"

#include <algorithm>

using namespace honert;

using Lock = std::lock_guard<std::mutex>;

void CollectiveLog::setStep(int64_t newStep) {
  Lock lock(mutex);
  step = newStep;
}

int64_t CollectiveLog::begin(const std::string &what) {
  Lock lock(mutex);
  Entry &entry = at(++latest);
  entry.number = latest;
  entry.step = step;
  entry.what = what; // reuses the memory of the entry before
  entry.begun = Clock::now();
  entry.isDone = false;
  return latest;
}

void CollectiveLog::wait(int64_t number, int64_t newPeer) {
  Lock lock(mutex);
  if (waitsIn != number)
    waitsSince = Clock::now();
  waitsIn = number;
  peer = newPeer;
}

void CollectiveLog::end(int64_t number) {
  Lock lock(mutex);
  if (waitsIn == number)
    waitsIn = 0;
  Entry &entry = at(number);
  if (entry.number != number) // has left the log
    return;
  entry.ended = Clock::now();
  entry.isDone = true;
}

std::optional<CollectiveLog::Wait> CollectiveLog::waiting() const {
  Lock lock(mutex);
  if (waitsIn == 0)
    return std::nullopt;
  std::chrono::duration<double> seconds = Clock::now() - waitsSince;
  Entry entry = entries[waitsIn % kept];
  if (entry.number != waitsIn) { // has left the log
    entry = Entry();
    entry.number = waitsIn;
    entry.what = "a collective begun long ago";
  }
  return Wait{entry, seconds.count(), peer};
}

std::string CollectiveLog::text() const {
  Lock lock(mutex);
  Clock::time_point now = Clock::now();
  auto milliseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  std::string text;
  int64_t first = std::max<int64_t>(1, latest - int64_t(kept) + 1);
  for (int64_t number = first; number <= latest; ++number) {
    const Entry &entry = entries[number % kept];
    text += format("  %s: begun %.1f ms ago, ", toString(entry).c_str(),
                   milliseconds(now - entry.begun));
    text += entry.isDone ? format("took %.1f ms\n",
                                  milliseconds(entry.ended - entry.begun))
                         : "not done\n";
  }
  return text;
}

std::string honert::shortName(const std::string &name) {
  constexpr size_t most = 80, mostEnd = 24;
  if (name.size() <= most)
    return name;
  size_t end = std::min(name.rfind(" and "), name.size());
  if (name.size() - end > mostEnd)
    end = name.size();
  size_t kept = most - 3 - (name.size() - end);
  return name.substr(0, kept) + "..." + name.substr(end);
}

std::string honert::toString(const CollectiveLog::Entry &entry) {
  std::string place =
      format("number %lld", static_cast<long long>(entry.number));
  if (entry.step > 0)
    place += format(" of step %lld", static_cast<long long>(entry.step));
  return entry.what + " (" + place + ")";
}
