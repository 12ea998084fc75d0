//===- Checkpoints.h - What is kept for the backward pass -------*- C++ -*-===//
//
// The choice of checkpoints as attributes, and their application. The
// attributes are the whole contract between hone-plan-checkpoints, which
// decides, and hone-apply-checkpoints, which does what they say; both are in
// Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_RECOMPUTE_CHECKPOINTS_H
#define HONE_LIB_TRANSFORMS_RECOMPUTE_CHECKPOINTS_H

#include "hone/Analysis/Recompute/StageMerge.h"
#include "hone/IR/Hone.h"

#include <string>

namespace hone {

/// "f0:3 b3 f2 b2:0": forward visits of stages 0 to 3, and so on.
std::string printVisits(llvm::ArrayRef<ChainVisit> visits);
/// The visits of such a text; failure with the reason in `problem`.
mlir::FailureOr<llvm::SmallVector<ChainVisit>>
parseVisits(llvm::StringRef text, std::string &problem);

/// On a forward group: results that lie in the second arena between their
/// maker and the first backward kernel that reads them.
constexpr llvm::StringLiteral awayAttr = "hone.away";

/// Whether the text is on the function.
bool hasSchedule(mlir::func::FuncOp func);

/// Takes the attributes of a schedule away.
void dropSchedule(mlir::func::FuncOp func);

/// Orders and clones the kernels of `func` as its attributes say, and takes
/// them away. Errors are reported.
mlir::LogicalResult applyCheckpoints(mlir::func::FuncOp func);

/// Bounds of the search for checkpoints, and what met them.
struct CheckpointSearch {
  StageLimits stage;
  int maxTrials = 10; ///< schedules that are measured

  int kinds = 0; ///< of stages, and those that met a bound of their planner:
  int metSearched = 0, metSteps = 0, metCutSteps = 0;
  MergeStops merge;
  bool metTrials = false, isRounded = false;

  /// Counts a kind of stage that has been planned.
  void add(const StageStops &stops);
  /// Says at `loc`, in a remark each, which bounds were met.
  void explain(mlir::Location loc) const;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_RECOMPUTE_CHECKPOINTS_H
