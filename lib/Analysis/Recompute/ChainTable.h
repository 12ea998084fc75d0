//===- ChainTable.h - Least seconds of chain segments -----------*- C++ -*-===//
//
// The dynamic program behind ChainPlanner. A *piece* is a segment of stages
// s..t that is still to be run forward and backward, together with what waits
// at its right end. The table holds, for each piece, the least seconds as a
// function of the memory left to it. Memory of a piece excludes a_{s-1}, which
// whoever opened the piece holds, and the born bytes of stages beyond it.
//
// The ways to begin a piece (ChainStep) are written down once, in forEachSave()
// and forEachWalk(): the table takes the least of them, and a schedule is read
// off by asking again which one it was.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_CHAINTABLE_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_CHAINTABLE_H

#include "hone/Analysis/Recompute/ChainSchedule.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace hone {

struct ChainPiece {
  int first, last;
  /// What waits for the piece: 0 the gradient of its output; 1 + k the stage
  /// behind it, saved with option k and without its input, which the piece must
  /// bring before anything else of it runs backward.
  int goal = 0;
  /// 0: whoever opened the piece holds its input. 1 + k: the input counts as
  /// memory of the piece, up to the last forward visit of its first stage,
  /// which saves for option k. That stage's backward is not part of the piece.
  int released = 0;

  bool isEmpty() const { return first > last; }
};

/// Seconds by slots: infinite before `first`, then not increasing, constant
/// from the last entry on.
struct ChainRow {
  int64_t first = std::numeric_limits<int64_t>::max() / 4;
  std::vector<double> seconds;
  double least = 0;  ///< with any memory
  int64_t ample = 0; ///< slots that allow `least`

  int64_t last() const { return first + int64_t(seconds.size()) - 1; }
  double at(int64_t slots) const {
    if (slots < first)
      return std::numeric_limits<double>::infinity();
    return seconds[std::min(slots, last()) - first];
  }
};

/// A piece that follows, with `less` slots less than the one it is a part of.
struct ChainRest {
  ChainPiece piece = {0, -1};
  int64_t less = 0;
};

/// A way to begin a piece. In order: forward visits of the stages before
/// `stage`, saving nothing; one of `stage` that saves for `option`, if there is
/// one; the backward that waits for the piece, if that `arrives`; `right`, and
/// the backward of its first stage if that was released and needs no input; the
/// backward of `stage`, if that is due; `left`.
struct ChainStep {
  int stage = 0;
  int option = -1;
  bool arrives = false;
  bool goesBack = false;
  double seconds = 0; ///< of what is in neither `right` nor `left`
  int64_t needs = 0;  ///< slots
  ChainRest right, left;
};

/// Which steps a table considers.
struct ChainSteps {
  bool lazy;    ///< a saved stage waits for its input
  bool release; ///< an output goes at its last forward reader, not its first
};

class ChainTable {
public:
  enum Rounding { Up, Down };
  /// For all of `slots` times `unit` bytes and less, a_{-1} not counted.
  ChainTable(const Chain &chain, const ChainLimits &limits, ChainSteps steps,
             int64_t unit, int64_t slots, Rounding rounding);

  ChainPiece whole() const { return {0, int(chain.stages.size()) - 1}; }
  const ChainRow &row(ChainPiece piece) const {
    return piece.isEmpty() ? nothing : rows[indexOf(piece)];
  }
  /// The best way to begin `piece` with that much memory, which must suffice.
  ChainStep best(ChainPiece piece, int64_t slots) const;
  int64_t unitBytes() const { return unit; }

  const ChainSteps steps;

  struct Size {
    int64_t rows = 0;
    int64_t sums = 0; ///< per slot, if none were left out
  };
  static Size measure(const Chain &chain, const ChainLimits &limits,
                      ChainSteps steps);

private:
  using StepFn = llvm::function_ref<void(const ChainStep &)>;
  void forEachSave(ChainPiece piece, StepFn visit) const;
  void forEachWalk(ChainPiece piece, StepFn visit) const;
  void forEachRelease(ChainPiece piece, const ChainStep &walk, int64_t held,
                      StepFn visit) const;
  void forEachLazy(ChainPiece piece, const ChainStep &walk, int64_t held,
                   StepFn visit) const;
  void goOn(ChainStep step, ChainPiece piece, int64_t held, StepFn visit) const;

  int64_t toSlots(int64_t bytes) const;
  int64_t gradient(int stage) const;
  int64_t waiting(ChainPiece piece) const;
  int64_t born(int first, ChainPiece piece) const;
  int64_t atArrival(ChainPiece piece, int64_t output) const;
  int64_t toSave(int stage, const ChainOption &option, ChainPiece piece) const;
  int64_t toGoBack(int stage, const ChainOption &option,
                   ChainPiece piece) const;
  const ChainOption &waitingOption(ChainPiece piece) const;

  int64_t indexOf(ChainPiece piece) const;
  void fill(ChainPiece piece);
  double evaluate(const ChainStep &step, int64_t slots) const;
  void minimize(const ChainStep &step);
  void settle();

  const Chain &chain;
  int64_t unit, slots;
  Rounding rounding;
  double tick;                   ///< of a visit, so that fewer win among equals
  std::vector<int64_t> bornUpTo; ///< bytes of stages before
  std::vector<int> segmentAt;    ///< by first * stages + last
  std::vector<int64_t> rowsOf;   ///< first row, by segment
  std::vector<ChainRow> rows;
  ChainRow nothing; ///< of the empty piece
  // While a row is filled: what steps take so far, and an earlier state of it
  // that does not increase.
  std::vector<double> scratch, reached;
};

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_CHAINTABLE_H
