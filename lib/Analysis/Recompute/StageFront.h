//===- StageFront.h - Options that nothing else beats -----------*- C++ -*-===//
//
// Private to the planner of a stage.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_STAGEFRONT_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_STAGEFRONT_H

#include "StageModel.h"

#include <array>

namespace hone {

/// What the chain pays for an option, less is better in each. Peaks are with
/// what is saved: that is how the chain meets them.
struct StageNumbers {
  explicit StageNumbers(const ChainOption &cost);

  static constexpr int count = 7;
  enum {
    Saved,
    Seconds,
    ForwardTop,
    BackwardTop,
    Input,
    LastSaved,
    LastSeconds
  };
  std::array<double, count> values;

  bool atMost(const StageNumbers &other) const;
};

/// A Pareto front.
class StageFront {
public:
  struct Point {
    StageChoice choice;
    ChainOption cost;
    StageNumbers numbers;
    int number; ///< as `add` was told
  };

  /// Whether some option is as good in everything.
  bool beats(const StageNumbers &numbers) const;
  /// Adds an option, unless it is beaten, and drops what it beats. `number` is
  /// the caller's.
  void add(const StageChoice &choice, const ChainOption &cost, int number = 0);
  /// Drops options down to `count`, each time the one that a chain would miss
  /// least. Those of least bytes saved, seconds and peak stay if `count`
  /// allows.
  void thin(int count);
  /// Most saved first.
  llvm::ArrayRef<Point> sorted();

private:
  llvm::BitVector extremes() const;
  llvm::SmallVector<llvm::SmallVector<double>> prices() const;

  llvm::SmallVector<Point, 0> points;
};

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_STAGEFRONT_H
