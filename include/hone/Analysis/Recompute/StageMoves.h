//===- StageMoves.h - Saved values in a second arena ------------*- C++ -*-===//
//
// A third choice for a value that a stage saves: neither kept nor recomputed,
// it lies in the second arena between the stage's forward and backward visit.
// Copies run beside the visits of the chain (docs/rationale/offload.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_STAGEMOVES_H
#define HONE_ANALYSIS_RECOMPUTE_STAGEMOVES_H

#include "hone/Analysis/Cost/HostLink.h"
#include "hone/Analysis/Recompute/StageOptions.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace hone {

/// An option with some of its saved values away. What it then costs:
///   saved, lastSaved           less by what is away
///   forwardPeak, backwardPeak  more by it: it goes while the next stage makes
///                              its own, and comes while the one before is used
///   forward, backward          what copies take beyond a visit on top
StageOption withAway(const StageGraph &graph, StageOption option,
                     llvm::ArrayRef<int> values, const HostLink &link);

/// `options`, and behind them each again with saved values away: the largest
/// for which the link has time beside both visits, and all. Only values for
/// which `mayMove` holds go.
llvm::SmallVector<StageOption> withMoves(const StageGraph &graph,
                                         llvm::ArrayRef<StageOption> options,
                                         const HostLink &link,
                                         llvm::function_ref<bool(int)> mayMove);

/// At most `kept` options of a stage without moves, and behind them at most one
/// more with saved values away. withMoves makes the latter of up to 1024, or
/// `kept`, options of planStage: what is best to save is another set where it
/// goes. One has the most bytes away that any of these has, and of those the
/// fewest seconds.
llvm::SmallVector<StageOption>
planStageWithMoves(const StageGraph &graph, const StageLimits &limits,
                   const HostLink &link, llvm::function_ref<bool(int)> mayMove,
                   StageStops *stops = nullptr);

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_STAGEMOVES_H
