//===- PlacementAnalysis.cpp - How ranks hold a value ---------------------===//

#include "PlacementAnalysis.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

Placement dist::shardedOn(unsigned dim) {
  return {Placement::Sharded, {dim}, nullptr};
}

Placement dist::partialBy(ReduceKind kind) {
  return {Placement::Partial, {}, nullptr, kind};
}

Placements dist::placementsOf(ShardingAttr attr, const Mesh &mesh,
                              Operation *begin) {
  Placements found;
  if (!attr)
    return found;
  Sharding sharding = toSharding(attr, mesh);
  for (auto [dim, shards] : llvm::enumerate(sharding.dims))
    for (unsigned axis : shards.axes)
      found.insert({axis, {Placement::Sharded, {unsigned(dim)}, begin}});
  for (unsigned axis : sharding.partial)
    found.insert({axis, {Placement::Partial, {}, begin}});
  return found;
}

StringRef dist::nounOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return "sum";
  case ReduceKind::max:
    return "maximum";
  case ReduceKind::min:
    return "minimum";
  }
  llvm_unreachable("unknown kind");
}

std::string dist::describe(const Placement &own) {
  switch (own.kind) {
  case Placement::Sharded:
    break;
  case Placement::Partial:
    return own.combiner == ReduceKind::sum   ? "partial sums"
           : own.combiner == ReduceKind::max ? "partial maxima"
                                             : "partial minima";
  case Placement::PartialLogSumExp:
    return "log-sum-exps of shards";
  case Placement::PartialNorm:
    return "norms of shards";
  case Placement::RankLocal:
    return "rank-local values";
  case Placement::Unknown:
    return "neither shards nor partial sums";
  }
  SmallVector<unsigned> dims(own.dims.begin(), own.dims.end());
  llvm::sort(dims);
  std::string text = "shards of dimension ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, " or ");
  return text;
}

/// The largest of log-sum-exps is what they are subtracted from.
static bool mayBe(const Placement &own, const Placement &expected) {
  switch (own.kind) {
  case Placement::Sharded:
    return expected.kind == Placement::Sharded &&
           llvm::any_of(expected.dims,
                        [&](unsigned dim) { return own.dims.contains(dim); });
  case Placement::Partial:
    return expected.kind == Placement::Partial &&
           own.combiner == expected.combiner;
  case Placement::PartialLogSumExp:
    return expected.kind == Placement::Partial &&
           expected.combiner == ReduceKind::max;
  case Placement::RankLocal:
    return expected.kind == Placement::Sharded ||
           own.combiner == expected.combiner;
  case Placement::PartialNorm:
  case Placement::Unknown:
    return false;
  }
  llvm_unreachable("unknown kind");
}

bool dist::mayBe(const ValuePlacement &value, unsigned axis,
                 const OptionalPlacement &expected) {
  const Placement *own = value.along(axis);
  if (!expected)
    return !own;
  if (!own && expected->kind == Placement::Sharded)
    return llvm::any_of(expected->dims,
                        [&](unsigned dim) { return value.isRepeated(dim); });
  if (!own)
    return value.mayBePartial(axis) && value.combiner == expected->combiner;
  return ::mayBe(*own, *expected);
}
