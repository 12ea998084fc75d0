//===- FuseGroups.cpp - Applies the fusion analysis -----------------------===//

#include "FreeValues.h"

#include "hone/Analysis/Fusion/CollectiveGroups.h"
#include "hone/Analysis/Fusion/GraphPartition.h"
#include "hone/Analysis/Fusion/Groups.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/IR/SearchBound.h"
#include "hone/Plan/LaunchLabel.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace hone {
#define GEN_PASS_DEF_FUSEGROUPS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// The dimension along which `ids` counts from 0, itself or as the first part
/// of a longer count, from the last one; or nothing.
static std::optional<int64_t> countedDim(Value ids) {
  if (auto slice = ids.getDefiningOp<SliceOp>()) {
    auto counter = slice.getOperand().getDefiningOp<IotaOp>();
    if (!counter || slice.getStarts()[counter.getDim()] != 0 ||
        slice.getStrides()[counter.getDim()] != 1)
      return std::nullopt;
    ids = counter;
  }
  auto counter = ids.getDefiningOp<IotaOp>();
  if (!counter)
    return std::nullopt;
  return cast<RankedTensorType>(counter.getType()).getRank() - 1 -
         counter.getDim();
}

/// Gathers for every row what was gathered for a few and repeated: positions
/// then run over the same rows as tokens.
static void repeatIds(Block &block) {
  for (auto broadcast :
       llvm::make_early_inc_range(block.getOps<BroadcastOp>())) {
    Value few = broadcast.getOperand();
    auto reshape = few.getDefiningOp<ReshapeOp>();
    if (reshape && reshape->hasOneUse())
      few = reshape.getOperand();
    auto gather = few.getDefiningOp<EmbeddingOp>();
    std::optional<int64_t> counted =
        gather ? countedDim(gather.getIds()) : std::nullopt;
    auto type = cast<RankedTensorType>(broadcast.getType());
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
    // The reshape, if any, drops leading ones.
    ArrayRef<int64_t> gathered;
    if (gather)
      gathered = cast<RankedTensorType>(gather.getType()).getShape();
    if (!counted || !gather->hasOneUse() || *counted + 1 >= from.getRank() ||
        int64_t(gathered.size()) < from.getRank() ||
        gathered.take_back(from.getRank()) != from.getShape() ||
        !llvm::equal(broadcast.getDims(),
                     llvm::seq<int64_t>(type.getRank() - from.getRank(),
                                        type.getRank())))
      continue;
    OpBuilder builder(broadcast);
    auto all =
        RankedTensorType::get(type.getShape().drop_back(),
                              getElementTypeOrSelf(gather.getIds().getType()));
    auto ids = builder.create<IotaOp>(gather.getIds().getLoc(), all,
                                      all.getRank() - 1 - *counted);
    auto repeated = builder.create<EmbeddingOp>(gather.getLoc(), type,
                                                gather.getTable(), ids);
    broadcast.replaceAllUsesWith(repeated.getResult());
    broadcast.erase();
    if (reshape)
      reshape.erase();
    Value unread = gather.getIds();
    gather.erase();
    while (unread && unread.use_empty()) { // the slice, then its counter
      Operation *maker = unread.getDefiningOp();
      unread = maker->getNumOperands() ? maker->getOperand(0) : Value();
      maker->erase();
    }
  }
}

/// Adds to the gradients of earlier micro-batches as soon as there is something
/// to add: what the sums are made of dies there.
static void hoistAccumulations(Block &block) {
  for (auto add : llvm::make_early_inc_range(block.getOps<AddOp>()))
    for (auto [gradient, made] : {std::make_pair(add.getLhs(), add.getRhs()),
                                  std::make_pair(add.getRhs(), add.getLhs())})
      if (Operation *producer = made.getDefiningOp();
          producer && isa<BlockArgument>(gradient) && made.hasOneUse())
        add->moveAfter(producer);
}

/// Gives the group reshapes of its own where others read them too.
static void takeReshapes(FusionGroup &group) {
  llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end());
  for (Operation *&op : group.ops) {
    if (!isa<ReshapeOp>(op) || llvm::all_of(op->getUsers(), [&](auto *user) {
          return inside.contains(user);
        }))
      continue;
    Operation *own = OpBuilder(op).clone(*op);
    op->replaceUsesWithIf(own->getResults(), [&](OpOperand &use) {
      return inside.contains(use.getOwner());
    });
    inside.erase(op);
    inside.insert(own);
    op = own;
  }
}

/// Builds the group op that holds `group`, after its last member.
static FusedOp wrap(const FusionGroup &group) {
  Operation *last = group.ops.back();
  llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end());
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  SmallVector<Location> locs;
  for (Operation *op : group.ops) {
    locs.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        outputs.push_back(result);
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  // One location stands for the group: that of its last op.
  auto fused =
      builder.create<FusedOp>(last->getLoc(), ValueRange(outputs).getTypes(),
                              group.family, inputs.getArrayRef());
  Block *body = builder.createBlock(&fused.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : group.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  builder.create<YieldOp>(last->getLoc(), yielded);
  for (auto [output, result] : llvm::zip(outputs, fused.getOutputs()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !inside.contains(use.getOwner());
    });
  for (Operation *op : llvm::reverse(group.ops))
    op->erase();
  return fused;
}

/// Orders the ops of `block` so that each comes behind what it reads, and as it
/// stands as far as that allows: what is not yet needed is not made earlier for
/// being ready. False if ops depend on each other in a cycle.
static bool sortStably(Block &block) {
  enum class State { New, Waiting, Placed };
  DenseMap<Operation *, State> states;
  SmallVector<Operation *> order, stack;
  for (Operation &first : block.without_terminator()) {
    stack.push_back(&first);
    while (!stack.empty()) {
      Operation *op = stack.back();
      State &state = states[op];
      if (state == State::Placed) {
        stack.pop_back();
        continue;
      }
      bool isComplete = true;
      for (Value operand : llvm::reverse(op->getOperands())) {
        Operation *producer = operand.getDefiningOp();
        if (!producer)
          continue;
        State known = states.lookup(producer);
        if (known == State::Waiting)
          return false;
        if (known == State::New) {
          stack.push_back(producer);
          isComplete = false;
        }
      }
      state = State::Waiting;
      if (!isComplete)
        continue;
      state = State::Placed;
      order.push_back(op);
      stack.pop_back();
    }
  }
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
  return true;
}

/// Whether `op` makes more of what it reads by a collective, or something of
/// such alone: views, and moves where the parts did not lie in order.
static bool isGathered(Operation *op, DenseMap<Operation *, bool> &known) {
  if (collectiveIn(op))
    return op->getNumOperands() == 1 &&
           byteSize(op->getResult(0).getType()) >
               byteSize(op->getOperand(0).getType());
  if (auto found = known.find(op); found != known.end())
    return found->second;
  auto group = dyn_cast<FusedOp>(op);
  bool moves = group && group.getFamily() == KernelFamily::dataMovement;
  return known[op] = (moves || isViewOfOperand(op)) &&
                     op->getNumOperands() > 0 && op->getNumResults() == 1 &&
                     llvm::all_of(op->getOperands(), [&](Value operand) {
                       Operation *producer = operand.getDefiningOp();
                       return producer && isGathered(producer, known);
                     });
}

/// Gathers a value when the first kernel that reads it comes: parameters of a
/// layer, of which nothing before it needs more than a part.
static void gatherLate(Block &block) {
  DenseMap<Operation *, bool> known;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() || !isGathered(&op, known))
      continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    op.moveBefore(first);
  }
}

namespace {
struct FuseGroups : hone::impl::FuseGroupsBase<FuseGroups> {
  using Base::Base;

  /// Says which searches stopped at their bounds.
  void explainBounds(const FusionCounts &counts, int64_t notFree) {
    auto say = [&](int64_t count) {
      return emitRemark(getOperation().getLoc())
             << searchStopped << "@" << getOperation().getName() << ": "
             << count;
    };
    if (counts.cut != 0)
      say(counts.cut) << " regions of too many ops for one search, cut into "
                         "parts of at most "
                      << maxRegionOps << " ops";
    if (int64_t greedy = counts.regions - counts.optimal; greedy != 0)
      say(greedy) << " regions of row ops have more than " << maxExactParts
                  << " parts, or too many ways to group them: pairs are joined "
                     "by gain";
    if (notFree != 0)
      say(notFree) << " values are stored that more than " << maxFreeOps
                   << " ops make from constants, counters and broadcasts";
  }

  void explain(const FusionAnalysis &analysis, ArrayRef<std::string> reasons) {
    FusionCounts counts = analysis.counts();
    emitRemark(getOperation().getLoc())
        << "@" << getOperation().getName() << ": " << analysis.groups().size()
        << " groups; " << counts.optimal << " of " << counts.regions
        << " regions of row ops at least cost, " << counts.searched
        << " of them distinct, the largest of " << counts.largest << " parts";
    for (auto [group, reason] : llvm::zip(analysis.groups(), reasons))
      emitRemark(group.ops.back()->getLoc()) << reason;
  }

  void runOnOperation() override {
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    repeatIds(block);
    hoistAccumulations(block);
    int64_t notFree = report ? countTooLongToFree(block) : 0;
    copyFreeValues(block);
    target->hasEpilogues = epilogues;
    FusionAnalysis analysis(block, *target, /*shares=*/regions);
    SmallVector<std::string> reasons; // by group, while all ops still stand
    if (report) {
      for (const FusionGroup &group : analysis.groups())
        reasons.push_back(analysis.explain(group));
      explain(analysis, reasons);
      explainBounds(analysis.counts(), notFree);
    }
    Builder builder(&getContext());
    for (auto [index, found] : llvm::enumerate(analysis.groups())) {
      FusionGroup group = found;
      takeReshapes(group);
      FusedOp fused = wrap(group);
      if (report)
        fused->setAttr(attr::reason, builder.getStringAttr(reasons[index]));
    }
    if (!sortStably(block)) {
      getOperation().emitError("groups depend on each other in a cycle");
      return signalPassFailure();
    }
    gatherLate(block);
  }
};
} // namespace
