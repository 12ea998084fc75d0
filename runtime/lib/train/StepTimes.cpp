//===- StepTimes.cpp - The launches of steps that were timed --------------===//

#include "train/StepTimes.h"

#include <algorithm>

using namespace honert;

/// Enough for a median; a longer run needs no more memory.
static constexpr size_t mostKept = 50;

static bool isAlike(const std::vector<FunctionTimes> &one,
                    const std::vector<FunctionTimes> &other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const FunctionTimes &x, const FunctionTimes &y) {
                      return x.function == y.function &&
                             x.isGraph == y.isGraph &&
                             x.launches.size() == y.launches.size();
                    });
}

void StepTimes::add(std::vector<FunctionTimes> step) {
  if (!kept.empty() && !isAlike(kept.back(), step))
    kept.clear();
  if (kept.size() == mostKept)
    kept.pop_front();
  kept.push_back(std::move(step));
}

double StepTimes::medianSeconds(size_t function, size_t launch) const {
  std::vector<double> seconds;
  for (const std::vector<FunctionTimes> &step : kept) {
    const LaunchTime &time = step[function].launches[launch];
    seconds.push_back(
        std::chrono::duration<double>(time.end - time.begin).count());
  }
  return medianOf(std::move(seconds));
}

double honert::medianOf(std::vector<double> values) {
  auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
