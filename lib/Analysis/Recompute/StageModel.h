//===- StageModel.h - What an option of a stage costs -----------*- C++ -*-===//
//
// A stage with what follows from its units: who makes a value, what the
// backward visit reads. Prices a choice of recomputed units by running both
// visits unit by unit. Private to the planner of a stage.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_RECOMPUTE_STAGEMODEL_H
#define HONE_LIB_ANALYSIS_RECOMPUTE_STAGEMODEL_H

#include "hone/Analysis/Recompute/StageOptions.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace hone {

/// Units that run again, some for each backward unit that needs them, and
/// values that are saved; those of recomputed units for their first reader. In
/// a choice that is not complete some values are neither; they weigh nothing,
/// so that its price bounds that of every completion from below.
struct StageChoice {
  llvm::BitVector recomputed,
      each;              ///< forward units; `each` a part of `recomputed`
  llvm::BitVector saved; ///< values
};

class StageModel {
public:
  explicit StageModel(const StageGraph &graph);

  const StageGraph &graph;

  /// A value that the backward visit has only if it is saved or recomputed.
  bool isChosen(int value) const {
    return makerOf[value] >= 0 &&
           graph.values[value].kind == StageValue::Kind::Inner;
  }
  int maker(int value) const { return makerOf[value]; }
  bool isReadByBackward(int value) const { return readByBackward[value]; }
  bool isForOutput(int unit) const { return outputUnits[unit]; }
  bool readsInput(const StageUnit &unit) const;

  /// Sum over the values of a kind.
  int64_t bytesOf(StageValue::Kind kind) const;

  /// Leaves out units whose results nobody needs, and saves what is needed and
  /// not recomputed.
  StageChoice complete(const llvm::BitVector &recomputed,
                       const llvm::BitVector &each,
                       const llvm::BitVector &later) const;

  using Steps = llvm::SmallVector<StageStep, 64>;
  Steps backwardSteps(const StageChoice &choice) const;
  ChainOption price(const StageChoice &choice) const;

  struct Visit {
    double seconds;
    int64_t peak; ///< most live bytes
  };
  /// Runs what the kept values, and results that are always there, need.
  Visit forwardVisit(llvm::BitVector kept, bool withFixed) const;

  llvm::BitVector noUnits() const {
    return llvm::BitVector(graph.forward.size());
  }
  llvm::BitVector noValues() const {
    return llvm::BitVector(graph.values.size());
  }
  llvm::BitVector outputs() const;

private:
  /// Units that run at the same time.
  struct Step {
    llvm::SmallVector<const StageUnit *, 2> units;
    bool isRecomputed = false;
  };
  int64_t peakLiveBytes(llvm::ArrayRef<Step> steps, llvm::BitVector needed,
                        llvm::ArrayRef<int64_t> weights) const;
  bool makesCopy(const Step &step, int value) const {
    return step.isRecomputed &&
           graph.values[value].kind != StageValue::Kind::Inner;
  }
  Visit backwardVisit(const StageChoice &choice,
                      llvm::ArrayRef<StageStep> steps) const;

  struct Launch {
    double seconds = 0.0;
    int units = 0;
  };
  llvm::DenseMap<int, Launch> launches; ///< by number

  llvm::SmallVector<int> makerOf; ///< forward unit of a value, or -1
  llvm::BitVector readByBackward, outputUnits;
};

} // namespace hone

#endif // HONE_LIB_ANALYSIS_RECOMPUTE_STAGEMODEL_H
