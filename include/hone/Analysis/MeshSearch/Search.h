//===- Search.h - The best plans for a number of ranks ----------*- C++ -*-===//

#ifndef HONE_ANALYSIS_MESHSEARCH_SEARCH_H
#define HONE_ANALYSIS_MESHSEARCH_SEARCH_H

#include "hone/Analysis/MeshSearch/Estimate.h"

namespace hone::search {

struct RankedPlan {
  Plan plan;
  Cost cost;
};

struct SearchResult {
  /// The fastest plan of each mesh, fastest first; at equal seconds, the one
  /// that needs less memory. dp and fs count as one axis here.
  std::vector<RankedPlan> best;
  int64_t meshes = 0; ///< sizes of axes whose product is the number of ranks
  int64_t plans = 0;  ///< of those that are possible
  /// Meshes that are impossible, and plans that do not fit or whose sizes do
  /// not divide, by their first reason.
  std::array<int64_t, numRefusals> refused = {};
  int64_t skipped = 0;  ///< plans that are slower than `best` by their bounds
  int64_t replayed = 0; ///< schedules
};

/// Searches all meshes of `ranks` ranks, recipes, schedules, micro-batches and
/// what is kept, for the `count` best meshes. Nothing that is left out could be
/// among them; `prunes` = false replays every plan, to test that.
SearchResult searchPlans(const Model &model, const Cluster &cluster,
                         int64_t ranks, size_t count = 10, bool prunes = true);

} // namespace hone::search

#endif // HONE_ANALYSIS_MESHSEARCH_SEARCH_H
