//===- RecomputeMaps.cpp - Cheap values recomputed where they are read ----===//

#include "FreeValues.h"

#include "hone/Analysis/Fusion/Groups.h"
#include "hone/IR/SearchBound.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace hone {
#define GEN_PASS_DEF_RECOMPUTEMAPS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// Ops that making one value again may take.
constexpr size_t maxOps = 16;

namespace {
/// How a value is recomputed: the ops, and the values that those read.
struct Recipe {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> leaves;
  bool isTooLong = false; ///< `maxOps` do not do
};

class Recomputation {
public:
  Recomputation(Block &block, const TargetDescription &target);
  void run();
  /// Values that stay stored because making one again took more than `maxOps`.
  int64_t numTooLong() const { return tooLong; }

private:
  bool isOwn(Operation *op) const { return own.contains(op); }
  int groupOf(Operation *op) const {
    auto found = groupIndex.find(op);
    return found == groupIndex.end() ? -1 : found->second;
  }
  llvm::MapVector<int, SmallVector<Operation *>> farReaders(Operation *op);
  bool isStored(Value value);
  bool isNarrow(Value value, int group);
  bool collect(Value value, int group, Recipe &recipe);
  bool pays(Operation *op, const Recipe &recipe, ArrayRef<int> readers);
  void rewrite(Operation *op, const Recipe &recipe,
               ArrayRef<Operation *> readers, int group);

  Block &block;
  const TargetDescription &target;
  DenseMap<Operation *, int> groupIndex;
  llvm::SmallPtrSet<Operation *, 32> own;         // in kernels of row ops
  SmallVector<llvm::SmallDenseSet<Value>> inputs; // per group
  SmallVector<int64_t> points; // elements of its largest value, per group
  DenseMap<Value, bool> storedValues; // asked for so far
  /// Clones by the group that they are for and their original.
  DenseMap<std::pair<int, Operation *>, Operation *> clones;
  int64_t tooLong = 0;
};
} // namespace

static int64_t elementsOf(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

Recomputation::Recomputation(Block &block, const TargetDescription &target)
    : block(block), target(target) {
  FusionAnalysis analysis(block, target);
  for (auto [index, group] : llvm::enumerate(analysis.groups())) {
    bool isRow = llvm::is_contained(
        {KernelFamily::map, KernelFamily::row, KernelFamily::rope},
        group.family);
    llvm::SmallDenseSet<Value> &read = inputs.emplace_back();
    int64_t &most = points.emplace_back(0);
    for (Operation *op : group.ops) {
      if (isa<ReshapeOp>(op))
        continue;
      groupIndex[op] = index;
      if (isRow)
        own.insert(op);
      for (Value operand : op->getOperands())
        read.insert(operand);
      for (Value result : op->getResults())
        most = std::max(most, elementsOf(result));
    }
  }
}

/// Whether `op` reads other elements than those of its own row: rotations walk
/// heads, gathers pick rows.
static bool readsOutOfOrder(Operation *op) {
  return llvm::is_contained({KernelFamily::rope, KernelFamily::gather},
                            cast<HoneOpInterface>(op).getKernelFamily());
}

/// Readers of `op` in other kernels, by kernel; none when something else than a
/// row kernel reads it, since then it is stored anyway.
llvm::MapVector<int, SmallVector<Operation *>>
Recomputation::farReaders(Operation *op) {
  llvm::MapVector<int, SmallVector<Operation *>> readers;
  for (Operation *reader : op->getUsers()) {
    if (!isOwn(reader) || readsOutOfOrder(reader))
      return {};
    if (groupOf(reader) != groupOf(op))
      readers[groupOf(reader)].push_back(reader);
  }
  return readers;
}

/// Whether memory holds `value` whatever is recomputed: no row kernel makes
/// it, something else reads it, or it is known already that it is not
/// recomputed for a reader.
bool Recomputation::isStored(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isOwn(producer))
    return true;
  // Only readers in row kernels come and go: asked once, of all readers.
  auto [known, isNew] = storedValues.try_emplace(value, false);
  if (isNew)
    known->second = llvm::any_of(
        value.getUsers(), [&](Operation *reader) { return !isOwn(reader); });
  return known->second;
}

/// A value per row or per column: storing it costs nothing beside the rows.
bool Recomputation::isNarrow(Value value, int group) {
  return 8 * elementsOf(value) <= points[group];
}

/// Adds what it takes to make `value` in another kernel than `group`, which
/// makes it now.
bool Recomputation::collect(Value value, int group, Recipe &recipe) {
  Operation *producer = value.getDefiningOp();
  if (producer && isa<ConstantOp, BroadcastOp>(producer)) {
    recipe.ops.insert(producer);
    return producer->getNumOperands() == 0 ||
           collect(producer->getOperand(0), group, recipe);
  }
  if (isStored(value) || isNarrow(value, group) || groupOf(producer) != group) {
    recipe.leaves.insert(value);
    return true;
  }
  if (!producer->hasTrait<OpTrait::Elementwise>())
    return false;
  if (recipe.ops.size() >= maxOps) {
    recipe.isTooLong = true;
    return false;
  }
  if (!recipe.ops.insert(producer))
    return true; // with all that it reads
  return llvm::all_of(producer->getOperands(), [&](Value operand) {
    return collect(operand, group, recipe);
  });
}

/// Whether the leaves are no larger than the value, so that each kernel reads
/// no more, and computing takes no longer than writing and reading it.
bool Recomputation::pays(Operation *op, const Recipe &recipe,
                         ArrayRef<int> readers) {
  int64_t own = byteSize(op->getResult(0).getType());
  int64_t before = own * int64_t(readers.size());
  int64_t after = 0;
  double flops = 0;
  for (Operation *made : recipe.ops)
    if (made->hasTrait<OpTrait::Elementwise>())
      flops += double(cast<HoneOpInterface>(made).getCost().flops) *
               double(readers.size());
  for (Value leaf : recipe.leaves)
    for (int reader : readers)
      if (!inputs[reader].contains(leaf) && !isNarrow(leaf, reader))
        after += byteSize(leaf.getType());
  double saved = double(own + before - after) / target.bytesPerSecond();
  return after <= before && flops / target.mapFlopsPerSecond() <= saved;
}

/// Makes the value again for the readers in one kernel.
void Recomputation::rewrite(Operation *op, const Recipe &recipe,
                            ArrayRef<Operation *> readers, int group) {
  IRMapping mapping;
  // Program order: operands before what reads them.
  SmallVector<Operation *> order(recipe.ops.begin(), recipe.ops.end());
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // Right after the original: leaves are known there, readers come later.
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (Operation *made : order) {
    Operation *&clone = clones[{group, made}];
    if (!clone) {
      clone = builder.clone(*made, mapping);
      if (!isFreeValue(made)) // those have copies everywhere
        clone->setAttr(attr::clone, builder.getUnitAttr());
      groupIndex[clone] = group;
      own.insert(clone);
    }
    mapping.map(made->getResult(0), clone->getResult(0));
  }
  for (Value leaf : recipe.leaves)
    inputs[group].insert(leaf);
  Value again = mapping.lookup(op->getResult(0));
  for (Operation *reader : readers)
    reader->replaceUsesOfWith(op->getResult(0), again);
}

void Recomputation::run() {
  SmallVector<Operation *> candidates;
  for (Operation &op : block.without_terminator())
    if (isOwn(&op) && op.hasTrait<OpTrait::Elementwise>() &&
        !isNarrow(op.getResult(0), groupOf(&op)))
      candidates.push_back(&op);
  for (Operation *op : candidates) {
    auto readers = farReaders(op);
    if (readers.empty())
      continue;
    SmallVector<int> groups;
    for (auto &[group, ops] : readers)
      groups.push_back(group);
    Recipe recipe;
    recipe.ops.insert(op);
    bool isMade = llvm::all_of(op->getOperands(), [&](Value operand) {
      return collect(operand, groupOf(op), recipe);
    });
    tooLong += recipe.isTooLong;
    if (!isMade || !pays(op, recipe, groups)) {
      storedValues[op->getResult(0)] = true; // for those readers
      continue;
    }
    for (auto &[group, ops] : readers)
      rewrite(op, recipe, ops, group);
  }
  // Also what was made again for a value that is made again itself.
  llvm::SmallPtrSet<Operation *, 16> perhapsUnread(candidates.begin(),
                                                   candidates.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if ((perhapsUnread.contains(&op) || op.hasAttr(attr::clone)) &&
        op.use_empty())
      op.erase();
}

namespace {
struct RecomputeMaps : hone::impl::RecomputeMapsBase<RecomputeMaps> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    copyFreeValues(block);
    Recomputation recomputation(block, *target);
    recomputation.run();
    if (report && recomputation.numTooLong() != 0)
      emitRemark(getOperation().getLoc())
          << searchStopped << "@" << getOperation().getName() << ": "
          << recomputation.numTooLong()
          << " maps are stored that take more than " << maxOps
          << " ops to make again";
  }
};
} // namespace
