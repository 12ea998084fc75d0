//===- Search.h - The best plans for a number of ranks ----------*- C++ -*-===//

#ifndef HONE_ANALYSIS_MESHSEARCH_SEARCH_H
#define HONE_ANALYSIS_MESHSEARCH_SEARCH_H

#include "hone/Analysis/MeshSearch/Estimate.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace hone::search {

struct RankedPlan {
  Plan plan;
  Cost cost;
};

struct SearchResult {
  /// The fastest plan of each mesh, fastest first; at equal seconds, the one
  /// with fewer micro-batches, then less memory. dp and fs count as one axis
  /// here.
  std::vector<RankedPlan> best;
  int64_t meshes = 0; ///< sizes of axes whose product is the number of ranks
  int64_t plans = 0;  ///< of those that are possible
  /// Meshes that no plan can have, and plans, by their first reason. A batch
  /// that does not divide is counted once for all schedules.
  std::array<int64_t, numRefusals> refusedMeshes = {}, refusedPlans = {};
  int64_t skipped = 0;  ///< plans that are slower than `best` by their bounds
  int64_t replayed = 0; ///< schedules
};

struct SearchOptions {
  int64_t ranks = 1;
  size_t count = 10; ///< of meshes to find
  /// Whether a mesh is wanted, by the axes of a plan. Null: all are.
  llvm::function_ref<bool(const Plan &)> accepts;
  /// If not set, every plan that fits is replayed, for tests: what the bounds
  /// leave out is never among the best.
  bool prunes = true;
};

/// Searches meshes, recipes, schedules, micro-batches and what is kept.
SearchResult searchPlans(const Model &model, const Cluster &cluster,
                         const SearchOptions &options);

} // namespace hone::search

#endif // HONE_ANALYSIS_MESHSEARCH_SEARCH_H
