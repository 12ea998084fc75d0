//===- StepChain.h - A step function as a chain of stages -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H

#include "Checkpoints.h"
#include "Transforms/Plan/FunctionPlanner.h"

#include "hone/Analysis/Recompute/StepStages.h"

namespace hone {

/// A step function as a chain, schedules of it, and what they cost.
class StepChain {
public:
  /// Notes in `search` what met its bounds.
  StepChain(mlir::func::FuncOp func, const TargetDescription &target,
            const StateMap &state, CheckpointSearch &search);

  const Chain &get() const { return chain; }
  const StepStages &stages() const { return cut; }
  llvm::ArrayRef<StageOption> options(int stage) const {
    return kindOptions[kinds[stage]];
  }
  /// Writes a schedule to the function, in place of another.
  void record(const ChainSchedule &schedule);
  /// Bytes of the function's temporaries under a schedule; -1 after an error.
  /// They are searched for as far as it takes to say whether they fit `limit`.
  int64_t measure(const ChainSchedule &schedule, int64_t limit);
  /// The same, as hone-plan-memory finds them.
  int64_t measureFully(const ChainSchedule &schedule);
  /// The same without one, where everything is kept; -1 after an error.
  int64_t keptBytes() const { return kept; }

private:
  mlir::OwningOpRef<mlir::func::FuncOp> apply(const ChainSchedule &schedule);

  mlir::func::FuncOp func;
  const StateMap &state;
  const TargetDescription &target;
  StepStages cut;
  Chain chain;
  llvm::SmallVector<int> kinds;
  llvm::SmallVector<llvm::SmallVector<StageOption>, 0> kindOptions;
  int64_t kept = 0;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
