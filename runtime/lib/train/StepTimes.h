//===- StepTimes.h - The launches of steps that were timed ------*- C++ -*-===//

#ifndef HONERT_TRAIN_STEPTIMES_H
#define HONERT_TRAIN_STEPTIMES_H

#include "exec/Executor.h"

#include <deque>

namespace honert {

/// When launches ran in the latest step that was timed, and how long each took
/// in the median of this step and those before it that ran in the same way: on
/// a GPU, the first step's launches are made one by one and later ones are a
/// graph.
class StepTimes {
public:
  void add(std::vector<FunctionTimes> step);

  bool empty() const { return kept.empty(); }
  const std::vector<FunctionTimes> &latest() const { return kept.back(); }
  /// How many steps medians are of.
  size_t steps() const { return kept.size(); }
  /// Of a launch of latest(); of an even number the smaller one in the middle.
  double medianSeconds(size_t function, size_t launch) const;

private:
  std::deque<std::vector<FunctionTimes>> kept; ///< alike
};

/// Of an even number the smaller one in the middle; there must be one.
double medianOf(std::vector<double> values);

} // namespace honert

#endif // HONERT_TRAIN_STEPTIMES_H
