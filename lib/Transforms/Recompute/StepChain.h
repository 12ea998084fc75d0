//===- StepChain.h - A step function as a chain of stages -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H

#include "Checkpoints.h"
#include "Transforms/Plan/FunctionPlanner.h"

#include "hone/Analysis/Pipeline/StageSchedule.h"
#include "hone/Analysis/Recompute/StageMoves.h"
#include "hone/Analysis/Recompute/StepStages.h"

namespace hone {

/// A step function as a chain, schedules of it, and what they cost.
class StepChain {
public:
  /// What a function takes besides its state.
  struct Bytes {
    int64_t windows = 0; ///< of a chunk of a pipeline, that others keep too
    int64_t temporaries = 0;
  };

  /// Notes in `search` what met its bounds. Of a chunk of a pipeline, with
  /// `turns`, there are the windows that hone-split-turns will give it, and the
  /// temporaries of the part that needs most. Where a schedule runs two parts
  /// together, those of its own forward and backward part stand for those of
  /// other chunks. With `moves`, values of so many bytes may lie in the second
  /// arena; none of a chunk of a pipeline.
  StepChain(mlir::func::FuncOp func, const TargetDescription &target,
            const StateMap &state, const pipeline::ChunkTurns *turns,
            CheckpointSearch &search, int64_t moves = 0);

  const Chain &get() const { return chain; }
  bool isOfStage() const { return turns; }
  /// Bytes that the chain has at its turn for the other micro-batches in
  /// flight. Each of them keeps what this one has there; 0: none does.
  int64_t bytesAtTurn() const { return atTurn; }
  mlir::func::FuncOp getFunction() const { return func; }
  const StepStages &stages() const { return cut; }
  llvm::ArrayRef<StageOption> options(int stage) const {
    return kindOptions[kinds[stage]];
  }
  /// The results of forward groups that an option of a stage has away.
  llvm::SmallVector<mlir::Value> awayIn(int stage,
                                        const StageOption &option) const;
  /// Bytes of the second arena that the latest schedule that was measured takes
  /// beside state.
  int64_t latestHostBytes() const { return hostBytes; }
  /// Writes a schedule to the function, in place of another.
  void record(const ChainSchedule &schedule);
  /// The windows and the temporaries of the function under a schedule, or of
  /// other functions, where those take more (setOthers); -1 after an error.
  /// They are searched for as far as it takes to say whether they fit `limit`.
  int64_t measure(const ChainSchedule &schedule, int64_t limit);
  /// The same, as hone-plan-memory finds them.
  int64_t measureFully(const ChainSchedule &schedule);
  /// The same without one, where everything is kept; -1 after an error.
  int64_t keptBytes() const { return kept ? total(*kept) : -1; }
  /// The same in parts: of the function where everything is kept, and of the
  /// latest schedule that was measured.
  Bytes getKept() const { return *kept; }
  Bytes getLatest() const { return latest; }
  /// Sets the temporaries of the functions that run at other times, beside the
  /// windows of this one.
  void setOthers(int64_t bytes) { others = bytes; }

private:
  struct Planned {
    Bytes bytes;
    int64_t atLeast; ///< temporaries by any packing
  };

  int64_t total(const Bytes &bytes) const {
    return bytes.windows + std::max(bytes.temporaries, others);
  }
  void weighTurn();
  llvm::SmallVector<StageOption> planOptions(const StageGraph &graph, int stage,
                                             CheckpointSearch &search,
                                             int64_t moves);
  mlir::Value resultOf(int stage, const StageGraph &graph, int value) const;
  mlir::OwningOpRef<mlir::func::FuncOp> apply(const ChainSchedule &schedule);
  llvm::SmallVector<mlir::func::FuncOp> split(mlir::func::FuncOp whole);
  /// That of `func` or of a copy; nothing after an error.
  std::optional<Planned> plan(mlir::func::FuncOp func, PackingLimits limits);

  mlir::func::FuncOp func;
  const StateMap &state;
  const pipeline::ChunkTurns *turns;
  const TargetDescription &target;
  StepStages cut;
  Chain chain;
  llvm::SmallVector<StageGraph, 0> graphs; ///< by stage
  llvm::SmallVector<int> kinds;
  llvm::SmallVector<llvm::SmallVector<StageOption>, 0> kindOptions;
  std::optional<Bytes> kept;
  Bytes latest;
  int64_t atTurn = 0;
  int64_t hostBytes = 0;
  int64_t others = 0;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_STEPCHAIN_H
