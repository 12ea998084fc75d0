//===- RankState.h - Parameters, gradients and optimizer state --*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_MESHSEARCH_RANKSTATE_H
#define HONE_LIB_ANALYSIS_MESHSEARCH_RANKSTATE_H

#include "UnitSeconds.h"

namespace hone::search {

/// What the units of a rank have, and how long they take.
struct RankUnits {
  double parameters[2] = {}; ///< dense ones, experts'; what the rank has
  double largest = 0;        ///< parameters of the largest unit, both kinds
  int64_t count = 0;         ///< units that have parameters
  double forward = 0;  ///< seconds of arithmetic, all units, one micro-batch
  double backward = 0; ///< the same
};

/// What divides state among ranks, and what that costs. Dense parameters are
/// replicated along dp, fs, ep and cp, those of experts along dp and fs.
class RankState {
public:
  RankState(const Model &model, const Plan &plan, const Groups &groups,
            const Cluster &cluster)
      : model(model), plan(plan), groups(groups), cluster(cluster) {}

  /// What collectives of parameters and gradients add to a step.
  double dataSeconds(const RankUnits &units, int64_t microBatches) const;
  double updateSeconds(const RankUnits &units) const;
  /// Sets state and gradients, and adds gathered weights, and what the update
  /// needs, to what is transient; activations are known.
  void addMemory(const RankUnits &units, RankMemory &memory) const;

private:
  double onceSeconds(size_t kind, double parameters) const;
  double repeatedSeconds(const RankUnits &units, int64_t microBatches) const;
  double updateBytes(const RankUnits &units) const;

  const Model &model;
  const Plan &plan;
  const Groups &groups;
  const Cluster &cluster;
};

} // namespace hone::search

#endif // HONE_LIB_ANALYSIS_MESHSEARCH_RANKSTATE_H
