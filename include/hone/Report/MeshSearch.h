//===- MeshSearch.h - What a search for a mesh has found --------*- C++ -*-===//

#ifndef HONE_REPORT_MESHSEARCH_H
#define HONE_REPORT_MESHSEARCH_H

#include "hone/Analysis/MeshSearch/Search.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace hone::report {

struct MeshSearchReport {
  const search::Model &model;
  const Cluster &cluster;
  std::string clusterName; ///< its file, or what is assumed
  int64_t ranks;
  search::SearchResult result;
  double seconds; ///< that the search took
  /// The best plan that honec compiles, where `result` has none.
  std::optional<search::RankedPlan> compiled;
  /// A plan that the user named.
  std::optional<search::RankedPlan> compared;
  /// Why it cannot be, its memory aside.
  std::optional<search::Refusal> comparedRefusal;
  /// Whether honec compiles the plan.
  llvm::function_ref<bool(const search::Plan &)> isCompiled;
};

/// The plans, where their time goes, and why each is slower than the one
/// before.
void printMeshSearch(llvm::raw_ostream &out, const MeshSearchReport &report);

} // namespace hone::report

#endif // HONE_REPORT_MESHSEARCH_H
