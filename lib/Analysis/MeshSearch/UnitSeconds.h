//===- UnitSeconds.h - Seconds of a rank's share of a unit ------*- C++ -*-===//

#ifndef HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H
#define HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H

#include "hone/Analysis/MeshSearch/Estimate.h"

namespace hone::search {

/// A micro-batch of a unit on one rank.
struct UnitSeconds {
  Seconds forward, backwardInput, backwardWeight;
  double savedBytes = 0;     ///< kept until the backward pass ends
  double transientBytes = 0; ///< besides, while it runs
  KeyExchange keys = KeyExchange::Ring;
  RowExchange rows = RowExchange::AllToAll;
};

/// The axes of `plan` as a mesh, named and in the order of Plan.
dist::Mesh meshOf(const Plan &plan, const dist::Network &network);
/// Numbers of its axes.
enum Axis : unsigned { PP, DP, FS, EP, CP, TP };

/// `isLast`: its backward pass follows at once, so all of it is kept.
UnitSeconds unitSeconds(const Unit &unit, bool isLast, const Model &model,
                        const Plan &plan, const dist::Mesh &mesh,
                        const Cluster &cluster);

} // namespace hone::search

#endif // HONE_LIB_ANALYSIS_MESHSEARCH_UNITSECONDS_H
