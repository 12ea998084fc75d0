//===- StepChain.h - A step function as a chain of stages -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H

#include "Checkpoints.h"
#include "Transforms/Plan/FunctionPlanner.h"

#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Analysis/Recompute/StepStages.h"

namespace hone {

/// A step function as a chain, schedules of it, and what they cost.
class StepChain {
public:
  /// Notes in `search` what met its bounds. Of a stage of a pipeline, with
  /// `turns`, temporaries are the windows that hone-split-turns will give it,
  /// and those of the part that needs most.
  StepChain(mlir::func::FuncOp func, const TargetDescription &target,
            const StateMap &state,
            const std::optional<pipeline::StageTurns> &turns,
            CheckpointSearch &search);

  const Chain &get() const { return chain; }
  bool isOfStage() const { return turns.has_value(); }
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
  struct Bytes {
    int64_t needed;
    int64_t atLeast; ///< by any packing
  };

  mlir::OwningOpRef<mlir::func::FuncOp> apply(const ChainSchedule &schedule);
  /// Temporaries of `func` or of a copy; nothing after an error.
  std::optional<Bytes> plan(mlir::func::FuncOp func, PackingLimits limits);

  mlir::func::FuncOp func;
  const StateMap &state;
  const std::optional<pipeline::StageTurns> &turns;
  const TargetDescription &target;
  StepStages cut;
  Chain chain;
  llvm::SmallVector<int> kinds;
  llvm::SmallVector<llvm::SmallVector<StageOption>, 0> kindOptions;
  int64_t kept = 0;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
