//===- RankDifferences.cpp - How what ranks hold differs ------------------===//

#include "RankDifferences.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

Difference dist::partsOf(unsigned dim) {
  return {Difference::Parts, {dim}, nullptr};
}

Difference dist::combinedBy(ReduceKind kind) {
  return {kind == ReduceKind::sum ? Difference::Terms : Difference::Other,
          {},
          nullptr};
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

std::string dist::describe(const Difference &own) {
  if (own.kind == Difference::Terms)
    return "terms of a sum";
  if (own.kind == Difference::Other)
    return "numbers of their own";
  SmallVector<unsigned> dims(own.dims.begin(), own.dims.end());
  llvm::sort(dims);
  std::string text = "parts of dimension ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, " or ");
  return text;
}

bool dist::isPerhaps(const Difference &own, const Agreement &wanted) {
  if (own.kind == Difference::Other)
    return true;
  return wanted && own.kind == wanted->kind &&
         (own.kind != Difference::Parts || own.isMoved ||
          llvm::any_of(wanted->dims,
                       [&](unsigned dim) { return own.dims.contains(dim); }));
}
