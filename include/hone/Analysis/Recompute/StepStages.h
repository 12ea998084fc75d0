//===- StepStages.h - A training step as a chain of stages ------*- C++ -*-===//
//
// Checkpoint selection sees a fused step as a chain: the forward part is cut
// where one value alone leads on (the residual stream between layers), and each
// piece of the backward part belongs to the stage whose values it reads. The
// last stage is the turn: the head, the loss and what its gradient starts with;
// where the forward part is handed on, what its gradient starts with alone.
//
// A *unit* is what can be recomputed: a library call, or the part of a kernel
// over rows that makes one of its results from operands and other results
// (GroupSlices.h). A *storage* is a value with everything that views it.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_STEPSTAGES_H
#define HONE_ANALYSIS_RECOMPUTE_STEPSTAGES_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Analysis/Recompute/StageMerge.h"

#include "llvm/ADT/DenseMap.h"

namespace hone {

/// A kernel, or a part of one, of the forward part of a step.
struct ForwardUnit {
  mlir::Operation *op;                  ///< a group, or a concatenation
  llvm::SmallVector<unsigned> results;  ///< of `op` that it makes
  llvm::SmallVector<mlir::Value> reads; ///< storages
  double seconds = 0;                   ///< its share of the kernel's
  double recomputeSeconds = 0;          ///< of a kernel of its own
  bool canRedo = true;
};

/// A link of the chain, its kernels in program order. Forward kernels of the
/// turn are among the backward ones: head and loss may go by chunks.
struct StepStage {
  llvm::SmallVector<int> units;
  llvm::SmallVector<mlir::Operation *> backward;
  mlir::Value output; ///< the storage that the next stage reads; null: none
};

class StepStages {
public:
  /// Cuts a fused function that computes a loss and gradients. One stage, or
  /// none, where nothing can be cut.
  StepStages(mlir::func::FuncOp func, const TargetDescription &target);

  llvm::ArrayRef<StepStage> stages() const { return chain; }
  llvm::ArrayRef<ForwardUnit> units() const { return forward; }
  /// The number of the stage that makes a result of a forward op, or -1: it is
  /// made once, for all stages (masks, tables of positions).
  int stageOf(mlir::Operation *op, unsigned result) const;

  /// The stage for the planner of its options.
  StageGraph graph(int stage) const;
  const MergeStops &stops() const { return mergeStops; }
  /// Whether the forward part ends with a value that others read before the
  /// backward part begins, in place of a loss.
  bool isHandedOn() const { return !handedOn.empty(); }

private:
  void addUnits(mlir::Operation *op);
  void keepWide(llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> &readers);
  void cut();
  void assignBackward();
  int earliestStage(mlir::Operation *op) const;
  llvm::DenseSet<mlir::Operation *> backwardOfArguments() const;
  void delayBackward();
  StageValue::Kind gradientKind(mlir::Value root, int stage) const;
  void join(llvm::function_ref<bool(int)> ends);
  llvm::SmallVector<mlir::Operation *> sunkBackward() const;
  void joinTurn();
  void interleaveTurn();

  mlir::func::FuncOp func;
  const TargetDescription &target;
  llvm::SmallVector<ForwardUnit, 0> forward;
  llvm::DenseSet<mlir::Value> kept; ///< storages that all layers may read
  llvm::DenseMap<mlir::Value, int> unitOf; ///< by storage
  /// What the forward part ends with, in place of a loss.
  llvm::SmallVector<mlir::Value> handedOn;
  llvm::SmallVector<StepStage, 0> chain;
  llvm::SmallVector<int> unitStage;
  llvm::DenseMap<mlir::Operation *, int> backwardStage;
  llvm::SmallVector<mlir::Operation *> backwardOps; ///< in program order
  MergeStops mergeStops;
};

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_STEPSTAGES_H
