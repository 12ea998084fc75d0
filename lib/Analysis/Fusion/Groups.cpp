//===- Groups.cpp - Which ops share a kernel ------------------------------===//

#include "hone/Analysis/Fusion/Groups.h"

#include "RegionParts.h"

#include "hone/Analysis/Fusion/RowSpace.h"
#include "hone/Analysis/Fusion/UpdateGroups.h"
#include "hone/Analysis/Layout/Views.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace hone;

static KernelFamily familyOf(Operation *op) {
  return cast<HoneOpInterface>(op).getKernelFamily();
}

//===----------------------------------------------------------------------===//
// Free values
//===----------------------------------------------------------------------===//

/// Whether `op` is free, where `isFree` says it of the operands.
static bool isFreeAbove(Operation *op,
                        llvm::function_ref<bool(Operation *)> isFree) {
  if (isa<IotaOp, BroadcastOp>(op))
    return true;
  if (isa<ConstantOp>(op))
    return isRowSpaceOp(op);
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumOperands() == 0)
    return false;
  // Maps of free values only, and not all of them constants: those would fold.
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return producer && isa<HoneDialect>(producer->getDialect()) &&
           isFree(producer);
  });
}

/// Takes one op per call from `budget`: as a tree, since that is what copies
/// for each reader make of shared operands.
static bool isFreeWithin(Operation *op, int64_t &budget) {
  return --budget >= 0 && isFreeAbove(op, [&](Operation *producer) {
    return isFreeWithin(producer, budget);
  });
}

bool hone::isFreeValue(Operation *op) {
  int64_t budget = maxFreeOps;
  return isFreeWithin(op, budget);
}

int64_t hone::countTooLongToFree(Block &block) {
  llvm::SmallPtrSet<Operation *, 32> found;
  auto isKnown = [&](Operation *producer) { return found.contains(producer); };
  int64_t count = 0;
  for (Operation &op : block) {
    if (!isa<HoneDialect>(op.getDialect()) || !isFreeAbove(&op, isKnown))
      continue;
    found.insert(&op);
    count += !isFreeValue(&op);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Anchors
//===----------------------------------------------------------------------===//

/// Whether `op` is part of a call or kernel that takes whole tensors alone, and
/// makes such.
bool FusionAnalysis::takesNoStrides(Operation *op) const {
  auto anchor = anchorOf.find(op);
  return anchor != anchorOf.end() &&
         llvm::is_contained({KernelFamily::contraction,
                             KernelFamily::convolution,
                             KernelFamily::groupedContraction,
                             KernelFamily::gather, KernelFamily::multiTensor},
                            plan[anchor->second].family);
}

/// Whether `op` needs no kernel. An elementwise op walks strides in a kernel of
/// its own, but not as the epilogue of a product.
bool FusionAnalysis::isViewOp(Operation *op) const {
  auto takesAny = [&](Operation *other) {
    return !other || !takesNoStrides(other);
  };
  if (auto slice = dyn_cast<SliceOp>(op))
    return isViewSlice(slice) &&
           (isContiguous(slice) || llvm::all_of(op->getUsers(), takesAny));
  if (auto concat = dyn_cast<ConcatOp>(op))
    return isPlacement(concat) &&
           (isContiguous(concat) ||
            llvm::all_of(concat.getInputs(), [&](Value input) {
              return takesAny(input.getDefiningOp());
            }));
  return isa<StopGradientOp>(op);
}

void FusionAnalysis::addAnchor(ArrayRef<Operation *> ops,
                               const ContractionGroup *contraction) {
  // An op outside any row space: its own family where that has an emitter for
  // single ops, else the general one.
  KernelFamily family = familyOf(ops.front());
  for (Operation *op : ops)
    if (familyOf(op) == KernelFamily::contraction ||
        familyOf(op) == KernelFamily::gather)
      family = familyOf(op);
  bool general = family == KernelFamily::row ||
                 family == KernelFamily::column ||
                 family == KernelFamily::view || family == KernelFamily::map;
  for (Operation *op : ops)
    anchorOf[op] = plan.size();
  plan.push_back({general ? KernelFamily::dataMovement : family,
                  SmallVector<Operation *>(ops)});
  origins.push_back({contraction, nullptr, {}});
}

// scatter of an embedding gradient + addend: one kernel adds onto the addend,
// row after row. An exact sum of the rows is rounded before it is added.
void FusionAnalysis::takeScatters() {
  bool addsRows = !isMeshInvariant(block.getParentOp());
  for (auto scatter : block.getOps<EmbeddingBwdOp>()) {
    SmallVector<Operation *> ops = {scatter};
    if (addsRows && scatter.getResult().hasOneUse())
      if (auto add = dyn_cast<AddOp>(*scatter.getResult().user_begin()))
        if (!isAnchor(add) && add.getLhs() != add.getRhs())
          ops.push_back(add);
    addAnchor(ops);
  }
}

// Codes of one matrix, along its rows and along its columns: a kernel reads the
// matrix once. They need nothing besides it but one amax.
void FusionAnalysis::takeQuantisations() {
  for (auto first : block.getOps<QuantizeOp>()) {
    if (isAnchor(first))
      continue;
    SmallVector<Operation *> ops;
    for (Operation *reader : first.getOperand().getUsers())
      if (auto op = dyn_cast<QuantizeOp>(reader))
        if (op->getBlock() == &block && op.getAmax() == first.getAmax())
          ops.push_back(op);
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    addAnchor(ops);
  }
}

/// Sorts what is left into ops of regions and anchors of one op.
void FusionAnalysis::takeOthers() {
  for (Operation &op : block.without_terminator()) {
    if (isAnchor(&op) || isa<ReshapeOp>(op))
      continue;
    if (isViewOp(&op) || RowSpace::of(&op))
      rowOps.push_back(&op);
    else
      addAnchor({&op});
  }
}

//===----------------------------------------------------------------------===//
// Depths
//===----------------------------------------------------------------------===//

/// The number of anchors before each op. Ops of one anchor share a depth, and
/// what reads them is one deeper; since some of them may stand before what
/// others wait for, the longest paths are found in rounds, nearly always two.
void FusionAnalysis::assignDepths() {
  SmallVector<int64_t> anchorDepths(plan.size(), 0);
  bool changed = true;
  for (size_t round = 0; changed && round <= plan.size(); ++round) {
    changed = false;
    for (Operation &op : block.without_terminator()) {
      auto anchor = anchorOf.find(&op);
      int64_t depth =
          anchor == anchorOf.end() ? 0 : anchorDepths[anchor->second];
      for (Value operand : op.getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || producer->getBlock() != &block)
          continue;
        auto from = anchorOf.find(producer);
        bool leaves =
            from != anchorOf.end() &&
            (anchor == anchorOf.end() || from->second != anchor->second);
        depth = std::max(depth, depths.lookup(producer) + leaves);
      }
      auto [known, isNew] = depths.try_emplace(&op, depth);
      changed |= isNew || known->second != depth;
      known->second = depth;
      if (anchor != anchorOf.end())
        anchorDepths[anchor->second] = depth;
    }
  }
  // A free value belongs where row ops read it, a clone where anything does.
  // One that is read through a reshape may have anchors for readers besides,
  // which it must not come after.
  for (Operation *op : llvm::reverse(rowOps)) {
    bool isTaken = op->hasAttr(attr::clone);
    if (!isTaken && !isFreeValue(op))
      continue;
    std::optional<int64_t> depth;
    for (Value result : op->getResults())
      forEachReader(result, [&](Operation *reader) {
        if (reader == block.getTerminator())
          return;
        isTaken |= !isAnchor(reader);
        depth = std::min(depth.value_or(depths[reader]), depths[reader]);
      });
    if (isTaken && depth)
      depths[op] = *depth;
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void FusionAnalysis::formRegions() {
  llvm::EquivalenceClasses<Operation *> connected;
  llvm::SmallPtrSet<Operation *, 32> inRegion(rowOps.begin(), rowOps.end());
  DenseMap<std::pair<Value, int64_t>, Operation *> readers;
  for (Operation *op : rowOps) {
    connected.insert(op);
    if (!shares)
      continue;
    for (Value operand : op->getOperands()) {
      Value root = storageOf(operand);
      Operation *producer = root.getDefiningOp();
      if (inRegion.contains(producer) && depths[producer] == depths[op])
        connected.unionSets(op, producer);
      if (isCheapToRead(root) || isViewOp(op) || isTable(op, operand))
        continue;
      auto [first, isNew] = readers.try_emplace({root, depths[op]}, op);
      if (!isNew)
        connected.unionSets(op, first->second);
    }
  }
  llvm::MapVector<Operation *, SmallVector<Operation *>> found;
  for (Operation *op : rowOps)
    found[connected.getLeaderValue(op)].push_back(op);
  for (auto &[leader, ops] : found) {
    if (int64_t(ops.size()) <= maxRegionOps) {
      solve(ops);
      continue;
    }
    ++solved.cut;
    for (ArrayRef<Operation *> part : cutRegion(ops, maxRegionOps))
      solve(part);
  }
}

void FusionAnalysis::solve(ArrayRef<Operation *> ops) {
  auto isView = [&](Operation *op) { return isViewOp(op); };
  if (llvm::all_of(ops, isView))
    return;
  regions.push_back(std::make_unique<RowRegion>(ops, isView, target));
  const RowRegion &region = *regions.back();
  auto [entry, isNew] = known.try_emplace(region.key());
  if (isNew)
    entry->second = region.plan();
  const RegionPlan &best = entry->second;
  for (auto [set, reduces] : llvm::zip_equal(best.groups, best.reduces)) {
    KernelFamily family = reduces ? KernelFamily::row : KernelFamily::map;
    if (Operation *first = region.ops()[set.front()]; set.size() == 1) {
      // These have kernels of their own.
      if (familyOf(first) == KernelFamily::gather)
        family = KernelFamily::gather;
      if (isa<AmaxOp>(first))
        family = KernelFamily::dataMovement;
    }
    plan.push_back({family, region.kernel(set)});
    origins.push_back({nullptr, &region, set});
  }
  if (ops.size() < 2)
    return;
  ++solved.regions;
  solved.searched += isNew;
  solved.optimal += best.isOptimal;
  solved.largest = std::max<int64_t>(solved.largest, best.parts);
}

FusionAnalysis::FusionAnalysis(Block &block, const TargetDescription &target,
                               bool shares)
    : block(block), target(target),
      // In a shared kernel a product and a sum are rounded once, and a total
      // is added up along the rows of what it is made from.
      shares(shares && !isMeshInvariant(block.getParentOp())),
      contractions(planContractions(block, target)) {
  for (const ContractionGroup &contraction : contractions)
    addAnchor(contraction.ops, &contraction);
  for (ArrayRef<Operation *> updates : planUpdates(block))
    addAnchor(updates);
  if (SmallVector<Operation *> sums = planVectorSums(block, target);
      !sums.empty()) {
    addAnchor(sums);
    plan.back().family = KernelFamily::multiTensor;
  }
  takeScatters();
  takeQuantisations();
  takeOthers();
  assignDepths();
  formRegions();
  for (auto [index, group] : llvm::enumerate(plan))
    for (Operation *op : group.ops)
      groupIndex[op] = index;
}
