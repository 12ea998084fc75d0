//===- UnitSeconds.h - Seconds of a rank's share of a unit ------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H
#define HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H

#include "hone/Analysis/MeshSearch/Estimate.h"
#include "hone/Sharding/IR/Sharding.h"

namespace hone::search {

/// A micro-batch of a unit on one rank.
struct UnitSeconds {
  Seconds forward, backwardInput, backwardWeight;
  double savedBytes = 0; ///< kept until the backward pass ends
  /// Kept until gradients of weights are made: gradients, and what they
  /// multiply where that was computed again.
  double gradientBytes = 0;
  double transientBytes = 0; ///< besides, while it runs
  KeyExchange keys = KeyExchange::Ring;
  RowExchange rows = RowExchange::AllToAll;
};

/// Ranks that exchange with each other under a plan's mesh.
struct Groups {
  dist::Group pp, ep, cp, tp;
  /// Those that divide the state of parameters, and those that repeat it: of
  /// dense parameters, of those of experts.
  dist::Group parts, copies[2];

  Groups(const Plan &plan, const dist::Network &network);
};

/// `isLast`: its backward pass follows at once, so all of it is kept.
UnitSeconds unitSeconds(const Unit &unit, bool isLast, const Model &model,
                        const Plan &plan, const Groups &groups,
                        const Cluster &cluster);

} // namespace hone::search

#endif // HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H
