//===- Positions.h - Where an action is in its rank's list ------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_PIPELINE_POSITIONS_H
#define HONE_LIB_ANALYSIS_PIPELINE_POSITIONS_H

#include "hone/Analysis/Pipeline/Schedule.h"

namespace hone::pipeline {

/// Positions of the actions of a schedule, all of which its shape contains. The
/// rank is that of the chunk.
class Positions {
public:
  explicit Positions(const Schedule &schedule);

  /// Of the first such action, or -1.
  int of(ActionKind kind, int chunk, int micro) const {
    return table[indexOf(kind, chunk, micro)];
  }
  int of(const Action &action) const {
    return of(action.kind, action.chunk, action.micro);
  }
  /// Of the action that computes the gradient of the chunk's input, or -1.
  int ofInputGradient(int chunk, int micro) const;
  /// Of the action that adds to the gradients of the chunk's weights, or -1.
  int ofWeightGradient(int chunk, int micro) const;

private:
  size_t indexOf(ActionKind kind, int chunk, int micro) const {
    return (size_t(chunk) * microBatches + micro) * actionKinds + size_t(kind);
  }

  int microBatches;
  std::vector<int> table;
};

} // namespace hone::pipeline

#endif // HONE_LIB_ANALYSIS_PIPELINE_POSITIONS_H
