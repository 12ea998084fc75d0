//===- Gaps.h - Idle time between the launches of a graph -----------------===//

#ifndef HONERT_TRAIN_GAPS_H
#define HONERT_TRAIN_GAPS_H

#include "exec/Executor.h"

namespace honert {

/// A time in which no launch ran.
struct Gap {
  std::chrono::steady_clock::time_point begin, end;
  const Launch *before; ///< the last to end before it
  const Launch *after;  ///< the first to begin after it
};

/// The gaps between the launches of a graph, in order. Launches on several
/// streams leave none while any of them runs; one that waits for another
/// stream runs nothing. Of a function that did not run as a graph: none.
std::vector<Gap> findGaps(const FunctionTimes &times);

} // namespace honert

#endif // HONERT_TRAIN_GAPS_H
