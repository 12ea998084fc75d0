//===- StageMerge.h - Which cuts of a chain to keep -------------*- C++ -*-===//
//
// Layers of a transformer have two cuts each, one per residual sum. Planning is
// fastest, and loses nothing, where a stage is a whole layer: what a layer
// keeps is chosen together anyway (StageOptions.h).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_STAGEMERGE_H
#define HONE_ANALYSIS_RECOMPUTE_STAGEMERGE_H

#include "hone/Analysis/Recompute/StageOptions.h"

namespace hone {

/// Stages that a chain has at most; longer ones are made of several periods.
constexpr int maxStages = 256;

/// A number per graph, equal for graphs that plan alike: of the same values,
/// kernels and costs.
llvm::SmallVector<int> findKinds(llvm::ArrayRef<StageGraph> graphs);

/// Longest patterns that a run may consist of: no layer has more cuts.
constexpr int maxPeriod = 8;

/// What kept stages from being whole layers.
struct MergeStops {
  int longerPeriod = 0;    ///< of a longer run, above `maxPeriod`; 0: none seen
  int periodsPerStage = 1; ///< above 1 where one each were too many stages
  int joined = 1; ///< of the stages that are left, above 1 for the same reason
};

/// The numbers of the stages after which a cut is worth keeping: in the longest
/// run of stages whose kinds repeat, one per period. At most `maxStages`.
llvm::SmallVector<int> chooseCuts(llvm::ArrayRef<StageGraph> graphs,
                                  MergeStops *stops = nullptr);

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_STAGEMERGE_H
