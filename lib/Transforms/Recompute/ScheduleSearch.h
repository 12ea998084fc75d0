//===- ScheduleSearch.h - The fastest schedule that fits --------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_SCHEDULESEARCH_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_SCHEDULESEARCH_H

#include "StepChain.h"

namespace hone {

/// A schedule and what it takes, as StepChain::measure found it.
struct MeasuredSchedule {
  ChainSchedule schedule;
  int64_t total;
  StepChain::Bytes bytes; ///< its parts
};

/// Looks for the fastest schedule whose temporaries fit into `limit` bytes.
class ScheduleSearch {
public:
  /// Notes in `bounds` whether it met that of trials.
  ScheduleSearch(StepChain &chain, int64_t limit, CheckpointSearch &bounds);

  /// The fastest that fits, of those that were measured; none where no plan
  /// fits. A plan that cannot be made is a reported error.
  mlir::FailureOr<std::optional<MeasuredSchedule>> run();
  /// The schedule of least memory, of those that `run` falls back to; none
  /// where everything kept takes less.
  mlir::FailureOr<std::optional<MeasuredSchedule>> findSmallest();
  /// The least temporaries that any of the schedules takes which `run` falls
  /// back to.
  int64_t smallest() const { return least; }
  const ChainPlanner &planner() const { return table; }

private:
  using Found = mlir::FailureOr<std::optional<MeasuredSchedule>>;
  /// What the chain may take if the arena's temporaries take `bytes`.
  int64_t inChain(int64_t bytes) const {
    return std::max<int64_t>(int64_t(double(bytes) * scale) - outside, 0);
  }
  Found searchTable(const ChainPlanner &planner);
  ChainPlanner makeWholeTable() const;
  llvm::SmallVector<ChainSchedule>
  smallSchedules(const ChainPlanner &whole) const;
  MeasuredSchedule latest(const ChainSchedule &schedule, int64_t total) const {
    return {schedule, total, chain.getLatest()};
  }
  Found fallBack(llvm::ArrayRef<ChainSchedule> schedules);

  StepChain &chain;
  int64_t limit;
  CheckpointSearch &bounds;
  /// Bytes of the chain for one of the arena: less than 1 where several
  /// micro-batches have what the chain has once.
  double scale;
  /// What the chain does not see, scaled; less than 0: what it has besides.
  int64_t outside;
  ChainPlanner table;
  int64_t least = 0;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_SCHEDULESEARCH_H
