//===- RegionParts.cpp - Regions that are too long ------------------------===//

#include "RegionParts.h"

#include "hone/Analysis/Fusion/RowRegion.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace hone;

namespace {
using Parts = SmallVector<SmallVector<Operation *>>;

/// A value that one op makes for another.
struct Link {
  int64_t bytes;
  size_t number; ///< in program order
  Operation *from, *to;
};

/// Sets of ops that grow along links, up to a size.
class Clusters {
public:
  Clusters(ArrayRef<Operation *> ops, int64_t most) : ops(ops), most(most) {
    for (Operation *op : ops)
      sizes[joined.getOrInsertLeaderValue(op)] = 1;
  }
  void join(const Link &link);
  Parts sorted();

private:
  Operation *of(Operation *op) { return joined.getLeaderValue(op); }
  void findWaits();

  ArrayRef<Operation *> ops;
  int64_t most;
  llvm::EquivalenceClasses<Operation *> joined;
  DenseMap<Operation *, int64_t> sizes;
  DenseMap<Operation *, int> waits; ///< of a cluster, for how many others
  DenseMap<Operation *, llvm::SmallSetVector<Operation *, 4>> readers;
};
} // namespace

void Clusters::join(const Link &link) {
  Operation *a = of(link.from), *b = of(link.to);
  int64_t size = sizes[a] + sizes[b];
  if (a != b && size <= most)
    sizes[*joined.unionSets(a, b)] = size;
}

void Clusters::findWaits() {
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto maker = joined.findLeader(storageOf(operand).getDefiningOp());
          maker != joined.member_end() && *maker != of(op))
        waits[of(op)] += readers[*maker].insert(of(op));
}

/// Each cluster behind those that it waits for; none where two wait for each
/// other.
Parts Clusters::sorted() {
  findWaits();
  llvm::MapVector<Operation *, SmallVector<Operation *>> members;
  for (Operation *op : ops)
    members[of(op)].push_back(op);
  SmallVector<Operation *> ready;
  for (Operation *cluster : llvm::make_first_range(members))
    if (waits.lookup(cluster) == 0)
      ready.push_back(cluster);
  Parts parts;
  while (!ready.empty()) {
    Operation *cluster = ready.pop_back_val();
    parts.push_back(members[cluster]);
    for (Operation *reader : readers[cluster])
      if (--waits[reader] == 0)
        ready.push_back(reader);
  }
  if (parts.size() != members.size())
    parts.clear();
  return parts;
}

/// The values between `ops`, the largest first.
static SmallVector<Link> linksOf(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  SmallVector<Link> links;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Operation *producer = storageOf(operand).getDefiningOp();
          inside.contains(producer))
        links.push_back(
            {byteSize(operand.getType()), links.size(), producer, op});
  llvm::sort(links, [](const Link &a, const Link &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
  });
  return links;
}

Parts hone::cutRegion(ArrayRef<Operation *> ops, int64_t most) {
  Clusters clusters(ops, most);
  for (const Link &link : linksOf(ops))
    clusters.join(link);
  Parts parts = clusters.sorted();
  if (!parts.empty())
    return parts;
  // Windows of program order never wait for each other.
  for (; !ops.empty(); ops = ops.drop_front(parts.back().size()))
    parts.emplace_back(ops.take_front(most));
  return parts;
}
