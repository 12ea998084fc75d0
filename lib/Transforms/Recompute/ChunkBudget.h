//===- ChunkBudget.h - One budget for the chunks of a stage -----*- C++ -*-===//
//
// The chunks of a stage of a pipeline keep their windows at the same time, and
// run in turns: a stage takes all windows and the temporaries of the function
// that needs most.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_CHUNKBUDGET_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_CHUNKBUDGET_H

#include "ScheduleSearch.h"

#include <memory>

namespace hone {

/// Chooses a schedule for each of several chunks.
class ChunkBudget {
public:
  using Chains = llvm::ArrayRef<std::unique_ptr<StepChain>>;

  /// Keeps everything in all chunks. `others` are the temporaries of functions
  /// that are of no chunk. Notes in `bounds` whether it met that of trials.
  ChunkBudget(Chains chains, int64_t others, CheckpointSearch &bounds);

  /// Chooses so that all fit into `limit` bytes: the least memory for each
  /// chunk first, then an equal share of what is left for one after the other.
  /// False if they do not fit: then `total` is the least that was found.
  mlir::FailureOr<bool> fit(int64_t limit);
  /// Takes `schedule` for a chunk.
  mlir::LogicalResult set(size_t chunk, const ChainSchedule &schedule);

  /// Bytes of windows and temporaries.
  int64_t total() const;
  /// The schedule of a chunk; none where everything is kept.
  const std::optional<ChainSchedule> &schedule(size_t chunk) const {
    return choices[chunk].schedule;
  }

private:
  struct Choice {
    std::optional<ChainSchedule> schedule;
    StepChain::Bytes bytes;
  };

  void take(size_t chunk, const std::optional<MeasuredSchedule> &found);
  mlir::LogicalResult widen(size_t chunk, int64_t limit);

  Chains chains;
  int64_t others;
  CheckpointSearch &bounds;
  llvm::SmallVector<Choice, 0> choices;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_CHUNKBUDGET_H
