//===- Regions.cpp - What runs in pieces together -------------------------===//

#include "Regions.h"

#include "hone/Sharding/Model/Traffic.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// Whether `op` reads a result of one of `makers`.
static bool reads(Operation *op,
                  llvm::function_ref<bool(Operation *)> isMaker) {
  return llvm::any_of(op->getOperands(), [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return maker && isMaker(maker);
  });
}

static bool isProduct(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  return facts && (facts.getKernelFamily() == KernelFamily::contraction ||
                   facts.getKernelFamily() == KernelFamily::groupedContraction);
}

static bool isCollectiveOp(Operation *op) {
  return isa<CollectiveOpInterface>(op);
}

namespace {
/// Which ops of a list stand behind some of them, or before.
class Order {
public:
  explicit Order(const llvm::SetVector<Operation *> &ops) : ops(ops) {}

  using Ops = SmallPtrSet<Operation *, 16>;
  using Test = llvm::function_ref<bool(Operation *)>;

  /// The ops that `starts` holds for, and those that need them.
  Ops behind(Test starts) const {
    Ops found;
    for (Operation *op : ops)
      if (starts(op) ||
          reads(op, [&](Operation *maker) { return found.contains(maker); }))
        found.insert(op);
    return found;
  }
  /// The ops that `starts` holds for, and those that they need.
  Ops before(Test starts) const {
    Ops found;
    for (Operation *op : llvm::reverse(ops))
      if (starts(op) || llvm::any_of(op->getUsers(), [&](Operation *user) {
            return found.contains(user);
          }))
        found.insert(op);
    return found;
  }

private:
  const llvm::SetVector<Operation *> &ops;
};
} // namespace

/// Keeps the products before or behind a collective, the collectives, and what
/// stands between two of these: pieces of other ops hide nothing. False if
/// nothing is left to hide, or to hide it behind.
static bool prune(PieceRegion &region) {
  Order order(region.ops);
  Order::Ops behind = order.behind(isCollectiveOp),
             before = order.before(isCollectiveOp);
  auto isEnd = [&](Operation *op) {
    return isCollectiveOp(op) ||
           (isProduct(op) && (behind.contains(op) || before.contains(op)));
  };
  Order::Ops needing = order.behind(isEnd), needed = order.before(isEnd);
  region.ops.remove_if([&](Operation *op) {
    return !needing.contains(op) || !needed.contains(op);
  });
  return llvm::any_of(region.ops, isCollectiveOp) &&
         llvm::any_of(region.ops, isProduct);
}

/// The ops from the first of `region` to the last that read what it computes
/// and are not of it.
static void findLater(PieceRegion &region) {
  SmallPtrSet<Operation *, 16> reading;
  for (Operation *op = region.ops.front(); op != region.ops.back();
       op = op->getNextNode()) {
    if (region.ops.contains(op) || !reads(op, [&](Operation *maker) {
          return region.ops.contains(maker) || reading.contains(maker);
        }))
      continue;
    reading.insert(op);
    region.later.push_back(op);
  }
}

/// Bytes that are copied because the pieces of a product at an end of the
/// region do not lie one behind the other in a value of other ops.
static int64_t copiedBytes(Operation *op, const PieceRegion &region,
                           const CutAnalysis &analysis) {
  const OpCuts &cuts = *analysis.cutsOf(op);
  auto isInside = [&](Operation *other) { return region.ops.contains(other); };
  int64_t bytes = 0;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Operation *maker = operand.getDefiningOp();
    if (cuts[index] && !cuts[index]->shards.cuts.empty() &&
        !(maker && isInside(maker)))
      bytes += byteSize(operand.getType());
  }
  const std::optional<Cut> &result = cuts.back();
  if (!result->shards.cuts.empty() && llvm::none_of(op->getUsers(), isInside))
    bytes += byteSize(op->getResult(0).getType());
  return bytes;
}

/// Leaves out products at the ends of the region whose copies take longer than
/// the longest collective.
static void dropCopies(PieceRegion &region, const CutAnalysis &analysis,
                       const Mesh &mesh, const TargetDescription &target) {
  double longest = 0;
  for (Operation *op : region.ops)
    if (std::optional<Transfer> transfer = transferOf(op, mesh))
      longest = std::max(longest, transfer->seconds);
  auto isInside = [&](Operation *op) { return region.ops.contains(op); };
  auto isEnd = [&](Operation *op) {
    return !reads(op, isInside) || llvm::none_of(op->getUsers(), isInside);
  };
  // Of the region as it is: what is left out first decides about no other.
  llvm::SmallPtrSet<Operation *, 8> dropped;
  for (Operation *op : region.ops)
    if (isProduct(op) && isEnd(op) &&
        2 * double(copiedBytes(op, region, analysis)) /
                target.bytesPerSecond() >
            longest)
      dropped.insert(op);
  region.ops.remove_if([&](Operation *op) { return dropped.contains(op); });
}

std::vector<PieceRegion> dist::findRegions(Block &block,
                                           const CutAnalysis &analysis,
                                           const Mesh &mesh,
                                           const TargetDescription &target) {
  std::vector<PieceRegion> regions;
  PieceRegion current;
  SmallPtrSet<Operation *, 16> others;
  auto close = [&] {
    PieceRegion region = std::exchange(current, {});
    others.clear();
    if (region.ops.empty() || !prune(region))
      return;
    dropCopies(region, analysis, mesh, target);
    if (!prune(region))
      return;
    findLater(region);
    regions.push_back(std::move(region));
  };
  auto isOther = [&](Operation *maker) { return others.contains(maker); };
  for (Operation &op : block) {
    if (analysis.cutsOf(&op)) {
      if (reads(&op, isOther))
        close();
      current.ops.insert(&op);
    } else if (reads(&op, [&](Operation *maker) {
                 return isOther(maker) || current.ops.contains(maker);
               })) {
      others.insert(&op);
    }
  }
  close();
  return regions;
}
