//===- Plan.h - One way to divide a step among ranks ------------*- C++ -*-===//
//
//   pp=8,dp=16,tp=8,sp,interleaved=3,micro=1,keep=all
//
// Words in any order, separated by commas: axes of the mesh with their sizes,
// words of a recipe, a schedule, sequences of a micro-batch of a rank, and what
// is kept for the backward pass.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_MESHSEARCH_PLAN_H
#define HONE_ANALYSIS_MESHSEARCH_PLAN_H

#include "hone/Analysis/Pipeline/Generate.h"

namespace hone::search {

/// What axis `fs` divides; its words are those of a recipe.
enum class StateLevel : uint8_t { None, Zero1, Zero2, Zero3, Zero3Keep };

/// What stays in memory for the backward pass; the rest is computed again.
enum class Keep : uint8_t {
  All,
  Products, ///< Unit::saved: norms and maps are computed again
  Borders   ///< the values between units
};

/// How ranks along `cp` get each other's keys and values.
enum class KeyExchange : uint8_t { Ring, Gather, Heads };
/// Its word of a recipe: "cp-ring", "cp-gather" or "cp-heads".
llvm::StringRef keyExchangeName(KeyExchange keys);

/// How ranks along `ep` get each other's rows.
enum class RowExchange : uint8_t { AllToAll, Gather };

struct Plan {
  // Axes of the mesh, from the outermost.
  int64_t pp = 1;
  int64_t dp = 1; ///< replicas; `rep` where `fs` divides state inside of them
  int64_t fs = 1, ep = 1, cp = 1, tp = 1;

  StateLevel state = StateLevel::None; ///< None if and only if fs is 1
  bool dividesPositions = false;       ///< along tp too (sp)
  pipeline::ScheduleChoice schedule;   ///< of more than one rank along pp
  int64_t microBatch = 1;              ///< sequences of a rank at a time
  Keep keep = Keep::All;
  /// Rows are always exchanged beside the arithmetic of another micro-batch,
  /// and ranks send as many as there are: for published plans. Schedules of
  /// Hone that overlap hide them where a forward and a backward action run
  /// together.
  bool hidesRows = false;
  /// Attention is one kernel whatever the axes: for published plans.
  bool fusesAttention = false;
  /// Units before each chunk but the first; empty: such that the chunks take as
  /// equal seconds as units allow.
  std::vector<size_t> cuts;

  int64_t ranks() const { return pp * batchRanks() * cp * tp; }
  /// Ranks that have different sequences.
  int64_t batchRanks() const { return dp * fs * ep; }
  int64_t chunks() const { return pp * schedule.chunksPerRank; }
};

/// Reads what the top of this file describes. The error quotes the word.
llvm::Expected<Plan> parsePlan(llvm::StringRef text);

/// "pp=8,dp=16,tp=8": axes of size 1 are left out; "dp=1" if all are. With
/// `fs`, replicas are called rep.
std::string formatMesh(const Plan &plan);
/// "zero1,sp"; "" if there are no words.
std::string formatRecipe(const Plan &plan);
/// "1f1b"; "" without a pipeline.
std::string formatSchedule(const Plan &plan);
/// "all", "products" or "borders".
llvm::StringRef keepName(Keep keep);
/// What parsePlan reads.
std::string formatPlan(const Plan &plan);

} // namespace hone::search

#endif // HONE_ANALYSIS_MESHSEARCH_PLAN_H
