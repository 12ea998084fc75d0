//===- GraphPartition.h - Parts of a graph into groups ----------*- C++ -*-===//
//
// The search behind the fusion analysis, on plain data: split the parts of an
// acyclic graph into groups so that the groups can run one after the other and
// cost least in sum. What a group costs, and whether it may be one, the caller
// answers.
//
// Small graphs are solved exactly: a sequence of groups is a path through the
// sets of parts that are closed under predecessors, and the cheapest path is
// the best partition. Others join pairs by gain.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_GRAPHPARTITION_H
#define HONE_ANALYSIS_FUSION_GRAPHPARTITION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace hone {

struct PartitionProblem {
  int parts = 0;
  /// Per part: those that must not run before it, each of a larger number.
  llvm::SmallVector<llvm::SmallVector<int>> successors;
  /// Per part: those that gain from its company, symmetric. Groups are
  /// connected in this relation.
  llvm::SmallVector<llvm::SmallVector<int>> neighbours;
  /// What a group of these parts (increasing) costs, or nothing when they
  /// cannot be one. A part alone always can.
  llvm::function_ref<std::optional<double>(llvm::ArrayRef<int>)> cost;
};

struct Partition {
  /// Parts of each group, increasing; groups in an order in which they can run.
  llvm::SmallVector<llvm::SmallVector<int>> groups;
  double cost = 0.0;
  bool isOptimal = false;
};

/// Parts up to which the search is exact, and up to which it is where few sets
/// are closed under predecessors: it asks for the cost of at most 2^13 groups
/// either way.
constexpr int exactParts = 13, maxExactParts = 16;
constexpr int maxClosedSets = 128;

/// The cheapest partition, at most `maxExactParts` parts.
Partition partitionExactly(const PartitionProblem &problem);

/// Joins the pair of groups that gains most until none gains.
Partition partitionGreedily(const PartitionProblem &problem);

/// Exactly where the problem is small enough.
Partition partition(const PartitionProblem &problem);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_GRAPHPARTITION_H
