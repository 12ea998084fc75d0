//===- RankDifferences.cpp - How what ranks hold differs ------------------===//

#include "RankDifferences.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

Difference dist::partsOf(unsigned dim) {
  return {Difference::Parts, {dim}, nullptr};
}

Difference dist::combinedBy(ReduceKind kind) {
  return {Difference::Terms, {}, nullptr, kind};
}

Differences dist::differencesOf(ShardingAttr attr, const Mesh &mesh,
                                Operation *begin) {
  Differences found;
  if (!attr)
    return found;
  Sharding sharding = toSharding(attr, mesh);
  for (auto [dim, shards] : llvm::enumerate(sharding.dims))
    for (unsigned axis : shards.axes)
      found.insert({axis, {Difference::Parts, {unsigned(dim)}, begin}});
  for (unsigned axis : sharding.partial)
    found.insert({axis, {Difference::Terms, {}, begin}});
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

std::string dist::describe(const Difference &own) {
  switch (own.kind) {
  case Difference::Parts:
    break;
  case Difference::Terms:
    return ("terms of a " + nounOf(own.combiner)).str();
  case Difference::Logarithms:
    return "log-sum-exps of parts";
  case Difference::Roots:
    return "norms of parts";
  case Difference::Own:
    return "numbers of their own";
  case Difference::Other:
    return "neither parts nor terms";
  }
  SmallVector<unsigned> dims(own.dims.begin(), own.dims.end());
  llvm::sort(dims);
  std::string text = "parts of dimension ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, " or ");
  return text;
}

/// The largest of log-sum-exps is what they are subtracted from.
static bool isPerhaps(const Difference &own, const Difference &wanted) {
  switch (own.kind) {
  case Difference::Parts:
    return wanted.kind == Difference::Parts &&
           llvm::any_of(wanted.dims,
                        [&](unsigned dim) { return own.dims.contains(dim); });
  case Difference::Terms:
    return wanted.kind == Difference::Terms && own.combiner == wanted.combiner;
  case Difference::Logarithms:
    return wanted.kind == Difference::Terms &&
           wanted.combiner == ReduceKind::max;
  case Difference::Own:
    return wanted.kind == Difference::Parts || own.combiner == wanted.combiner;
  case Difference::Roots:
  case Difference::Other:
    return false;
  }
  llvm_unreachable("unknown kind");
}

bool dist::isPerhaps(const Held &held, unsigned axis, const Agreement &wanted) {
  const Difference *own = held.along(axis);
  if (!wanted)
    return !own;
  if (!own && wanted->kind == Difference::Parts)
    return llvm::any_of(wanted->dims,
                        [&](unsigned dim) { return held.isRepeated(dim); });
  if (!own)
    return held.areTerms(axis) && held.combiner == wanted->combiner;
  return ::isPerhaps(*own, *wanted);
}
