//===- StageOptions.h - What one stage saves for its backward ---*- C++ -*-===//
//
// One stage of a training step runs forward once or more, and backward once.
// Which of its values should its backward visit find saved, and which make
// again? Few bytes are saved or little time is spent: a set of options, from
// which the chain of stages chooses (ChainSchedule.h). Plain data, no IR.
//
// An option is a set of forward units that the backward visit runs again.
// Everything else that it reads, it finds: values that the last forward visit
// saved, and the stage's input and output.
//
//   best trade of bytes for seconds  a minimum cut per exchange rate (MinCut.h)
//   all others, and peaks            branch and bound over the larger units
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_STAGEOPTIONS_H
#define HONE_ANALYSIS_RECOMPUTE_STAGEOPTIONS_H

#include "hone/Analysis/Recompute/ChainSchedule.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace hone {

/// A storage: what views or overwrites of one another is one value, whose bytes
/// count once.
struct StageValue {
  enum class Kind {
    Inner,       ///< made in this stage and read in it alone
    Input,       ///< comes from the stage before: what the chain holds for us
    Output,      ///< made for the stage after
    Fixed,       ///< always there (parameters, key of the RNG): no bytes
    GradientIn,  ///< of the output; comes from the stage after
    GradientOut, ///< of the input; made by the backward visit
    Born         ///< made by the backward visit, stays to the end of the step
  };
  int64_t bytes = 0;
  Kind kind = Kind::Inner;
};

/// What runs as one: a fused group.
struct StageUnit {
  /// In a forward visit (or, for a backward unit, in the backward visit). Units
  /// of one launch share its time: their seconds add up to it.
  double seconds = 0.0;
  /// Of a clone that runs alone. No less than `seconds`.
  double recomputeSeconds = 0.0;
  llvm::SmallVector<int> reads, makes;
  /// (read, made): the made value takes the storage of the read one where that
  /// dies here.
  llvm::SmallVector<std::pair<int, int>> inPlace;
  int64_t scratch = 0;
  /// A unit that may not run twice has its results saved. They must then stay
  /// as long as anything reads them: such a stage has one forward visit.
  bool canRedo = true;
  /// Forward units of equal number, one after the other, run as one kernel in
  /// a forward visit: all results are there at once. -1: alone.
  int launch = -1;
};

/// Forward units make Inner, Output and Fixed values, backward units Inner,
/// GradientOut and Born ones; each value is made once. Units stand in an order
/// in which they can run, and in which they do.
struct StageGraph {
  llvm::SmallVector<StageValue> values;
  llvm::SmallVector<StageUnit> forward, backward;
};

/// Forward units that the backward visit runs again, increasing.
struct StageRecomputation {
  llvm::SmallVector<int, 4> recomputed;
  /// Those of them that run again for each backward unit that needs them. The
  /// results of the others are kept until their last reader.
  llvm::SmallVector<int, 4> each;
  /// Those of them whose results are saved all the same, for the first backward
  /// unit that needs them; then they go.
  llvm::SmallVector<int, 4> later;
};

struct StageOption : StageRecomputation {
  llvm::SmallVector<int, 4> saved; ///< Inner values, increasing
  llvm::SmallVector<int, 4> away;  ///< those in a second arena (StageMoves.h)
  ChainOption cost;
};

struct StageLimits {
  int kept = 8;        ///< options in the answer
  int searched = 20;   ///< units that branch and bound decides, largest first
  int steps = 1 << 15; ///< nodes that it visits at most, fewer of > 1024 units
  /// Edges that minimum cuts look at, all of a stage.
  int64_t cutSteps = 1 << 24;
  bool perReader = false; ///< whether it tries `each` and `later`
};

/// What kept the planner of a stage from trying more.
struct StageStops {
  bool metSearched = false; ///< units beyond those searched may run again
  bool metSteps = false, metCutSteps = false;
};

/// Options of which none is better than another in everything: bytes saved,
/// seconds, peak of either visit (with what is saved), need of the input. Most
/// saved first. Where there are more than `kept`, those go first that a chain
/// would miss least; those of least bytes saved, seconds and peak stay.
llvm::SmallVector<StageOption> planStage(const StageGraph &graph,
                                         const StageLimits &limits = {},
                                         StageStops *stops = nullptr);

/// Of `options`, as many as `kept` in the same way and order.
llvm::SmallVector<StageOption> thinOptions(llvm::ArrayRef<StageOption> options,
                                           int kept);

/// The vertices of the convex hull of (bytes saved, seconds of recompute): as
/// planned before the search. Most saved first.
llvm::SmallVector<StageOption> planStageHull(const StageGraph &graph);

/// What it costs to run these forward units again; those that nobody needs are
/// left out of the answer. Nothing, and why in `problem`, where a unit may not
/// be recomputed. The numbers:
///   forward, forwardPeak    runs what the saved values and the output need
///   backward, backwardPeak  each recomputed unit right before its first
///                           reader, see `backwardSteps`
///   saved                   saved values and the output
///   lastForward, lastSaved  without the output, unless the backward reads it
/// A peak is the most live bytes at any one unit less what the chain counts
/// itself: at a forward visit what that visit saves; at a backward visit what
/// is saved without the output (lastSaved) and the two gradients. A value lives
/// from its maker to its last reader; scratch counts while the unit runs; the
/// input, fixed and born values do not count.
std::optional<StageOption> priceStage(const StageGraph &graph,
                                      const StageRecomputation &recompute,
                                      std::string &problem);

/// The backward visit of an option, unit by unit.
struct StageStep {
  bool isRecomputed; ///< of a forward unit
  int unit;
};
llvm::SmallVector<StageStep> backwardSteps(const StageGraph &graph,
                                           const StageRecomputation &recompute);

/// The stage as the chain sees it, with these options.
ChainStage chainStage(const StageGraph &graph,
                      llvm::ArrayRef<StageOption> options);

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_STAGEOPTIONS_H
