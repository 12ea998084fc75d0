//===- ChainSchedule.h - When to recompute which stage ----------*- C++ -*-===//
//
// Checkpoint selection over a chain of stages, on plain data. Stages are
// numbered from 0; stage s reads a_{s-1} and makes a_s; its backward reads what
// its *option* saves, maybe a_{s-1}, and the gradient of a_s, and makes the
// gradient of a_{s-1}. The last stage is the turn: its backward makes the
// gradient of its own output too.
//
// A schedule is a sequence of visits. Its meaning, which simulate() measures:
//  - A visit reads the latest version of what it needs. A version is dropped
//    after its last reader.
//  - The last forward visit of a stage before its backward visit saves for it
//    what the stage's option says; earlier ones make the output alone.
//  - A forward visit whose output nobody reads does not make it.
//
// The planner is a dynamic program over segments of the chain
// (docs/rationale/checkpoint-schedule.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_CHAINSCHEDULE_H
#define HONE_ANALYSIS_RECOMPUTE_CHAINSCHEDULE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hone {

/// One way to run a stage: what backward finds saved and what it makes again.
/// Bytes are of whole buffers, aligned.
struct ChainOption {
  double forward = 0;  ///< seconds of the visit that saves and makes a_s
  double backward = 0; ///< seconds of backward, with what it makes again
  /// What stays after that forward visit while a_s has readers, a_s included.
  int64_t saved = 0;
  /// The most a forward visit that saves (with or without a_s) needs above
  /// a_{s-1} and what stays after it.
  int64_t forwardPeak = 0;
  /// The most backward needs above what is saved, a_{s-1} if it reads that, the
  /// two gradients and `bornBytes`.
  int64_t backwardPeak = 0;
  bool needsInput = true; ///< backward reads a_{s-1}
  /// The forward visit that saves but whose a_s no other stage reads (of the
  /// last stage: always), and what stays after it: `saved` without a_s, or all
  /// of it where the stage's own backward reads a_s.
  double lastForward = 0;
  int64_t lastSaved = 0;
};

struct ChainStage {
  double forward = 0;        ///< seconds of a visit that makes a_s alone
  int64_t forwardPeak = 0;   ///< the most it needs above a_{s-1} and a_s
  int64_t outputBytes = 0;   ///< a_s
  int64_t gradientBytes = 0; ///< the gradient of a_s
  /// What backward makes that stays to the end of the step: gradients of
  /// parameters that have no buffer of their own before.
  int64_t bornBytes = 0;
  llvm::SmallVector<ChainOption, 2> options; ///< at least one, most saved first
};

/// Stages with equal numbers are found and planned together: give equal layers
/// equal numbers.
struct Chain {
  llvm::SmallVector<ChainStage, 0> stages;
  int64_t inputBytes = 0;         ///< a_{-1}, there for the whole step
  int64_t inputGradientBytes = 0; ///< its gradient
};

struct ChainVisit {
  bool isForward;
  int stage;
};

struct ChainSchedule {
  llvm::SmallVector<ChainVisit, 0> visits;
  llvm::SmallVector<int, 0> option; ///< per stage
  // As simulate() finds them.
  double seconds = 0;
  int64_t bytes = 0; ///< peak
};

struct ChainRun {
  double seconds;
  int64_t peakBytes;
};

/// Walks the visits. Fails, with a sentence in `problem`, if a visit finds
/// missing what it reads, if the backward visits are not those of all stages in
/// reverse, or if nobody needs what a forward visit makes.
std::optional<ChainRun> simulate(const Chain &chain,
                                 const ChainSchedule &schedule,
                                 std::string &problem);

// The classic policies; every stage has its first option.
/// Each stage visited once.
ChainSchedule keepAll(const Chain &chain);
/// Keeps the outputs of all stages and recomputes each before its backward.
ChainSchedule recomputeAll(const Chain &chain);
/// Keeps every ceil(sqrt(L))-th output and recomputes the stages between
/// together.
ChainSchedule squareRoot(const Chain &chain);

struct ChainLimits {
  /// Bytes are counted in the largest unit that divides all sizes if at most
  /// `exactSlots` of it make `maxBytes`, else in about 1/`slots` of that,
  /// rounded up.
  int64_t exactSlots = 8192;
  int64_t slots = 4096;
  /// Whether a saved stage may drop its input until a recompute brings it back,
  /// also when a recompute has started from that input before.
  bool lazy = true;
  /// Bounds on a table: sums that are compared, and bytes. A chain that needs
  /// more goes without the second part of `lazy`, then without the first, then
  /// with fewer slots. (A unit that divides outputs may take five times
  /// `work`.)
  int64_t work = 10'000'000'000;
  int64_t tableBytes = int64_t(1) << 29;
  /// Whether equal segments share a table. Off only to test that they may.
  bool collapse = true;
};

/// The least seconds that `bytes` allow.
struct ChainPoint {
  int64_t bytes;
  double seconds;
};

class ChainTable;

/// All budgets up to `maxBytes` from one table, whose slots are finer where
/// `maxBytes` is less than keeping everything needs.
class ChainPlanner {
public:
  ChainPlanner(Chain chain, int64_t maxBytes, ChainLimits limits = {});
  ~ChainPlanner();

  /// A fastest schedule whose peak is at most `bytes`, if one is found; there
  /// is one for each budget from smallest() on. Among equally fast ones that
  /// with fewest visits, then with the least memory.
  std::optional<ChainSchedule> schedule(int64_t bytes) const;
  /// The least peak of any schedule in the table; nothing where `maxBytes` is
  /// too little.
  std::optional<int64_t> smallest() const;
  /// From little memory to much, strictly decreasing in seconds.
  llvm::SmallVector<ChainPoint, 0> curve() const;
  /// What the table would say for `bytes` without rounding is not less: what it
  /// says with sizes rounded down. Infinite if that has no schedule.
  double lowerBound(int64_t bytes) const;
  /// Whether sizes are counted without rounding.
  bool isOptimal() const;

private:
  int64_t slotsIn(int64_t bytes) const;
  int64_t peakAt(int64_t slots) const;

  Chain chain;
  ChainLimits limits;
  bool optimal;
  int64_t slots;
  std::unique_ptr<ChainTable> table;
  // Made on demand.
  mutable std::unique_ptr<ChainTable> below;      ///< rounded down
  mutable llvm::DenseMap<int64_t, int64_t> peaks; ///< of schedules, by slots
};

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_CHAINSCHEDULE_H
