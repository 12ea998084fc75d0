//===- BoundIds.cpp - What ids the files of an input may hold -------------===//
//
// Of each input of ids the largest bound V such that ids in [0, V) stay inside
// every table that they alone decide the place in. The runtime compares the
// files with it before the first step.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/IntegerRanges.h"
#include "hone/Dist/Dist.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_BOUNDIDS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Which values an input decides alone
//===----------------------------------------------------------------------===//

namespace {
/// Values that depend on one input. `tight` are those whose elements each grow
/// or shrink with one element of it, so that a bound of theirs is exactly a
/// bound of the input: any other would refuse ids that do no harm.
class Dependence {
public:
  Dependence(func::FuncOp func, BlockArgument input,
             const IntegerRanges &ranges)
      : ranges(ranges) {
    tight.insert(input);
    reached.insert(input);
    for (Operation &op : func.front())
      visit(&op);
  }

  bool isTight(Value value) const { return tight.contains(value); }

private:
  void visit(Operation *op);
  bool isTightOp(Operation *op) const;
  bool isTightChoice(SelectOp op) const;
  bool compares(Value pred, Value value) const;
  bool isReached(Value value) const { return reached.contains(value); }
  bool isConstant(Value value) const {
    const IntervalSet &set = ranges.lookup(value);
    return !set.isEmpty() && set.low() == set.high();
  }

  const IntegerRanges &ranges;
  DenseSet<Value> tight, reached;
};
} // namespace

/// Whether `pred` compares `value` itself, or only tells single numbers apart.
bool Dependence::compares(Value pred, Value value) const {
  Operation *op = pred.getDefiningOp();
  if (isa_and_present<NotOp, AndOp, OrOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value each) {
      return !isReached(each) || compares(each, value);
    });
  auto cmp = dyn_cast_or_null<CmpOp>(op);
  return cmp && (cmp.getLhs() == value || cmp.getRhs() == value ||
                 cmp.getPredicate() == CmpPredicate::eq ||
                 cmp.getPredicate() == CmpPredicate::ne);
}

bool Dependence::isTightChoice(SelectOp op) const {
  Value branches[] = {op.getOnTrue(), op.getOnFalse()};
  if (isReached(branches[0]) && isReached(branches[1]) &&
      branches[0] != branches[1])
    return false;
  Value branch = isReached(branches[0]) ? branches[0] : branches[1];
  return isTight(branch) &&
         (!isReached(op.getPred()) || compares(op.getPred(), branch));
}

bool Dependence::isTightOp(Operation *op) const {
  if (auto select = dyn_cast<SelectOp>(op))
    return isTightChoice(select);
  SmallVector<Value> own, others;
  for (Value operand : op->getOperands())
    (isReached(operand) ? own : others).push_back(operand);
  if (!llvm::all_of(own, [&](Value each) { return isTight(each); }))
    return false;
  auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(op->getResult(0)));
  if (!element || element.isInteger(1))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, ConcatOp,
            StopGradientOp, CastOp, NegOp, dist::ConstrainOp>(
          [](Operation *) { return true; })
      .Case<AddOp, SubOp, MaxOp, MinOp>(
          [&](Operation *) { return own.size() == 1; })
      // By a mask it would hide elements that do no harm.
      .Case<MulOp>([&](Operation *) {
        return own.size() == 1 && isConstant(others.front());
      })
      .Case<DivOp>([&](DivOp div) {
        return own.size() == 1 && own.front() == div.getLhs() &&
               isConstant(div.getRhs());
      })
      .Default([](Operation *) { return false; });
}

void Dependence::visit(Operation *op) {
  if (!llvm::any_of(op->getOperands(), [&](Value v) { return isReached(v); }))
    return;
  bool isExact = op->getNumResults() == 1 && isTightOp(op);
  for (Value result : op->getResults()) {
    reached.insert(result);
    if (isExact)
      tight.insert(result);
  }
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {
/// Finds the bound of one input at a time, the others being any integers.
class BoundFinder {
public:
  explicit BoundFinder(func::FuncOp func)
      : func(func), sites(findIdSites(func)), ranges(func) {}

  void bound(BlockArgument input);

private:
  /// Finds the values that come from ids of `set`.
  void runWith(BlockArgument input, const IntervalSet &set) {
    IntegerRanges::Arguments arguments;
    arguments[input] = set;
    ranges.run(arguments);
  }
  bool isProven(const IdSite &site) const {
    return site.isWithin(ranges.lookup(site.operand->get()));
  }
  /// Whether ids of `set` stay inside all tables of `decided`.
  bool isProven(BlockArgument input, const IntervalSet &set,
                ArrayRef<IdSite> decided) {
    runWith(input, set);
    return llvm::all_of(decided,
                        [&](const IdSite &site) { return isProven(site); });
  }
  SmallVector<IdSite> findDecided(BlockArgument input);
  std::optional<int64_t> findIgnored(BlockArgument input, int64_t bound,
                                     ArrayRef<IdSite> decided);

  func::FuncOp func;
  SmallVector<IdSite> sites;
  IntegerRanges ranges;
};
} // namespace

/// The sites that the input alone decides, which ids below 0 do leave: where
/// the program clamps them, files may hold them.
SmallVector<IdSite> BoundFinder::findDecided(BlockArgument input) {
  SmallVector<IdSite> decided;
  ranges.run(IntegerRanges::Arguments());
  Dependence dependence(func, input, ranges);
  for (const IdSite &site : sites)
    if (dependence.isTight(site.operand->get()))
      decided.push_back(site);
  runWith(input, IntervalSet(0, 0));
  llvm::erase_if(decided, [&](const IdSite &site) { return !isProven(site); });
  IntervalSet below = IntervalSet::all(getElementTypeOrSelf(input.getType()));
  runWith(input, IntervalSet(below.low(), 0));
  llvm::erase_if(decided, [&](const IdSite &site) { return isProven(site); });
  return decided;
}

/// The id that a loss ignores, where no other table is read with it.
std::optional<int64_t> BoundFinder::findIgnored(BlockArgument input,
                                                int64_t bound,
                                                ArrayRef<IdSite> decided) {
  IntervalSet every = IntervalSet::all(getElementTypeOrSelf(input.getType()));
  for (const IdSite &site : decided) {
    std::optional<int64_t> ignored = site.ids.ignored;
    if (!ignored || *ignored < every.low() || *ignored > every.high())
      continue;
    IntervalSet set(0, bound - 1);
    set.add({*ignored, *ignored});
    if (isProven(input, set, decided))
      return ignored;
  }
  return std::nullopt;
}

void BoundFinder::bound(BlockArgument input) {
  SmallVector<IdSite> decided = findDecided(input);
  unsigned index = input.getArgNumber();
  func.removeArgAttr(index, attr::ignore);
  if (decided.empty())
    return;
  // Ids in [0, proven] are inside, those in [0, open] are not.
  int64_t proven = 0;
  int64_t open = IntervalSet::all(getElementTypeOrSelf(input.getType())).high();
  if (isProven(input, IntervalSet(0, open), decided))
    return;
  while (open - proven > 1) {
    int64_t middle = proven + (open - proven) / 2;
    (isProven(input, IntervalSet(0, middle), decided) ? proven : open) = middle;
  }
  int64_t bound = proven + 1;
  auto given = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
  if (given)
    bound = std::min(bound, given.getInt());
  Builder builder(func.getContext());
  func.setArgAttr(index, attr::vocab, builder.getI64IntegerAttr(bound));
  if (std::optional<int64_t> ignored = findIgnored(input, bound, decided))
    func.setArgAttr(index, attr::ignore, builder.getI64IntegerAttr(*ignored));
}

namespace {
struct BoundIds : hone::impl::BoundIdsBase<BoundIds> {
  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!func || !func.getBody().hasOneBlock())
      return markAllAnalysesPreserved();
    BoundFinder finder(func);
    for (BlockArgument argument : func.getArguments()) {
      auto element =
          dyn_cast<IntegerType>(getElementTypeOrSelf(argument.getType()));
      if (element && element.getWidth() > 1 &&
          argString(func, argument.getArgNumber(), attr::kind) == kind::input)
        finder.bound(argument);
    }
  }
};
} // namespace
