//===- Gaps.cpp - Idle time between the launches of a graph ---------------===//

#include "train/Gaps.h"

#include <algorithm>

using namespace honert;

std::vector<Gap> honert::findGaps(const FunctionTimes &times) {
  std::vector<const LaunchTime *> work;
  if (times.isGraph)
    for (const LaunchTime &time : times.launches)
      if (!std::holds_alternative<WaitLaunch>(time.launch->action))
        work.push_back(&time);
  std::sort(work.begin(), work.end(),
            [](const LaunchTime *x, const LaunchTime *y) {
              return x->begin != y->begin ? x->begin < y->begin : x < y;
            });
  std::vector<Gap> gaps;
  const LaunchTime *latest = nullptr; // of those so far, the last to end
  for (const LaunchTime *next : work) {
    if (latest && latest->end < next->begin)
      gaps.push_back({latest->end, next->begin, latest->launch, next->launch});
    if (!latest || latest->end <= next->end)
      latest = next;
  }
  return gaps;
}
