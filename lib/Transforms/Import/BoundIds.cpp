//===- BoundIds.cpp - What ids the files of an input may hold -------------===//
//
// Of each input of ids the bound V such that ids in [0, V) stay inside a table,
// and every other one leaves it. The runtime compares the files with it before
// the first step. Where no bound is exact, hone-guard-ids checks each batch.
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/Values/IntegerRanges.h"
#include "hone/IR/PackageFunction.h"
#include "hone/Sharding/IR/Dist.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"
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
/// Values whose elements each depend on one element of an input, and which of
/// them hold a number for every element of it.
class Dependence {
public:
  Dependence(func::FuncOp func, BlockArgument input) {
    for (DenseSet<Value> *set : {&reached, &pointwise, &whole})
      set->insert(input);
    for (Operation &op : func.front())
      visit(&op);
  }

  bool isPointwise(Value value) const { return pointwise.contains(value); }
  bool isWhole(Value value) const { return whole.contains(value); }

private:
  void visit(Operation *op);
  bool isPointwiseOp(Operation *op, ArrayRef<Value> own) const;
  bool isPointwiseChoice(SelectOp op) const;
  bool compares(Value pred, Value value) const;
  bool isReached(Value value) const { return reached.contains(value); }

  DenseSet<Value> reached, pointwise, whole;
};
} // namespace

/// Whether what `pred` has of the input is `value`, element by element.
bool Dependence::compares(Value pred, Value value) const {
  Operation *op = pred.getDefiningOp();
  if (isa_and_present<NotOp, AndOp, OrOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value each) {
      return !isReached(each) || compares(each, value);
    });
  return isa_and_present<CmpOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value each) {
           return !isReached(each) || each == value;
         });
}

bool Dependence::isPointwiseChoice(SelectOp op) const {
  Value branches[] = {op.getOnTrue(), op.getOnFalse()};
  if (isReached(branches[0]) && isReached(branches[1]) &&
      branches[0] != branches[1])
    return false;
  Value branch = isReached(branches[0]) ? branches[0] : branches[1];
  return isPointwise(branch) &&
         (!isReached(op.getPred()) || compares(op.getPred(), branch));
}

/// `own`: the operands that depend on the input.
bool Dependence::isPointwiseOp(Operation *op, ArrayRef<Value> own) const {
  if (auto select = dyn_cast<SelectOp>(op))
    return isPointwiseChoice(select);
  auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(op->getResult(0)));
  if (!element || element.isInteger(1) ||
      !llvm::all_of(own, [&](Value each) { return isPointwise(each); }))
    return false;
  // Of x + x, say, ranges would know less than the bound of an input needs.
  if (isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp>(op))
    return own.size() == 1;
  return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, ConcatOp,
             StopGradientOp, CastOp, NegOp, dist::ConstrainOp>(op);
}

void Dependence::visit(Operation *op) {
  SmallVector<Value> own;
  for (Value operand : op->getOperands())
    if (isReached(operand))
      own.push_back(operand);
  if (own.empty())
    return;
  reached.insert(op->result_begin(), op->result_end());
  if (op->getNumResults() != 1 || !isPointwiseOp(op, own))
    return;
  Value result = op->getResult(0);
  pointwise.insert(result);
  // A slice leaves elements out, which then do no harm.
  bool hasAny = cast<RankedTensorType>(result.getType()).getNumElements() > 0;
  if (!isa<SliceOp>(op) && hasAny &&
      llvm::any_of(own, [&](Value each) { return isWhole(each); }))
    whole.insert(result);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {
/// Finds the bound of one input at a time, the others being any integers.
class BoundFinder {
public:
  explicit BoundFinder(func::FuncOp func)
      : func(func), sites(findIdSites(func.front())), ranges(func.front()) {}

  void bound(BlockArgument input);

private:
  /// The ids that a site reads where the input holds those of `set`.
  const IntervalSet &idsOf(const IdSite &site, const IntervalSet &set) {
    IntegerRanges::Arguments arguments;
    arguments[input] = set;
    ranges.run(arguments);
    return ranges.lookup(site.operand->get());
  }
  bool isInside(const IdSite &site, const IntervalSet &set) {
    return site.isWithin(idsOf(site, set));
  }
  bool isInside(const IdSite &site, int64_t id) {
    return isInside(site, IntervalSet(id, id));
  }
  std::optional<int64_t> findBound(const IdSite &site);
  bool isExact(const IdSite &site, int64_t bound);
  void findIgnorable(const Dependence &dependence);
  llvm::SmallSetVector<int64_t, 2> findCompared(const Dependence &dependence);
  SmallVector<int64_t> findIgnored(int64_t bound, ArrayRef<IdSite> exact);
  void setBound(std::optional<int64_t> bound, ArrayRef<IdSite> exact);

  func::FuncOp func;
  SmallVector<IdSite> sites;
  IntegerRanges ranges;
  BlockArgument input;
  IntervalSet every; ///< that the input's type has
  /// Ids that losses ignore, or that are replaced, and the input may hold.
  llvm::SmallSetVector<int64_t, 2> ignorable;
};
} // namespace

/// The largest V such that ids in [0, V) stay inside the table of a site;
/// nothing where 0 does not, or every id above does.
std::optional<int64_t> BoundFinder::findBound(const IdSite &site) {
  int64_t inside = 0, open = every.high();
  if (!isInside(site, 0) || isInside(site, IntervalSet(0, open)))
    return std::nullopt;
  while (open - inside > 1) {
    int64_t middle = inside + (open - inside) / 2;
    (isInside(site, IntervalSet(0, middle)) ? inside : open) = middle;
  }
  return inside + 1;
}

/// Whether each other id leaves it, but those that may be ignored.
bool BoundFinder::isExact(const IdSite &site, int64_t bound) {
  IntervalSet others;
  others.add({every.low(), -1});
  others.add({bound, every.high()});
  for (int64_t id : ignorable)
    if (isInside(site, id))
      others = others.where(CmpPredicate::ne, IntervalSet(id, id));
  return idsOf(site, others).isOutside(site.ids.size, site.ids.ignored);
}

void BoundFinder::findIgnorable(const Dependence &dependence) {
  ignorable.clear();
  SmallVector<IdSite> own;
  for (const IdSite &site : sites)
    if (dependence.isPointwise(site.operand->get()))
      own.push_back(site);
  for (const IdSite &site : own) {
    std::optional<int64_t> id = site.ids.ignored;
    if (id && *id >= every.low() && *id <= every.high() && isInside(site, *id))
      ignorable.insert(*id);
  }
  for (int64_t id : findCompared(dependence))
    if (!own.empty() && llvm::all_of(own, [&](const IdSite &site) {
          return isInside(site, id);
        }))
      ignorable.insert(id);
}

/// Numbers beyond all tables that the input's ids are compared with, as to fill
/// in others for them.
llvm::SmallSetVector<int64_t, 2>
BoundFinder::findCompared(const Dependence &dependence) {
  int64_t least = INT64_MAX;
  for (const IdSite &site : sites)
    least = std::min(least, site.ids.size);
  IntegerRanges::Arguments arguments;
  arguments[input] = every;
  ranges.run(arguments);
  llvm::SmallSetVector<int64_t, 2> found;
  for (auto cmp : func.front().getOps<CmpOp>()) {
    bool isEquality = cmp.getPredicate() == CmpPredicate::eq ||
                      cmp.getPredicate() == CmpPredicate::ne;
    Value ids = cmp.getLhs(), number = cmp.getRhs();
    if (dependence.isPointwise(number))
      std::swap(ids, number);
    if (!isEquality || !dependence.isPointwise(ids))
      continue;
    const IntervalSet &set = ranges.lookup(number);
    if (!set.isEmpty() && set.low() == set.high() &&
        (set.low() < 0 || set.low() >= least) && set.low() >= every.low() &&
        set.low() <= every.high())
      found.insert(set.low());
  }
  return found;
}

/// Of the ids to ignore those that the bound keeps out and no exact site does.
SmallVector<int64_t> BoundFinder::findIgnored(int64_t bound,
                                              ArrayRef<IdSite> exact) {
  SmallVector<int64_t> ignored;
  for (int64_t id : ignorable)
    if ((id < 0 || id >= bound) && llvm::all_of(exact, [&](const IdSite &site) {
          return isInside(site, id);
        }))
      ignored.push_back(id);
  return ignored;
}

/// One id is written that may be ignored. Two of them have no place: then
/// nothing is bounded, or as much as the package says, which keeps fewer out.
void BoundFinder::setBound(std::optional<int64_t> bound,
                           ArrayRef<IdSite> exact) {
  unsigned index = input.getArgNumber();
  auto given = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
  if (given)
    bound = std::min(bound.value_or(given.getInt()), given.getInt());
  if (!bound)
    return;
  SmallVector<int64_t> ignored = findIgnored(*bound, exact);
  if (ignored.size() > 1) {
    if (!given)
      return;
    bound = given.getInt();
    ignored = findIgnored(*bound, exact);
  }
  Builder builder(func.getContext());
  func.setArgAttr(index, attr::vocab, builder.getI64IntegerAttr(*bound));
  if (!ignored.empty())
    func.setArgAttr(index, attr::ignore,
                    builder.getI64IntegerAttr(ignored.front()));
}

void BoundFinder::bound(BlockArgument of) {
  input = of;
  every = IntervalSet::all(getElementTypeOrSelf(input.getType()));
  func.removeArgAttr(input.getArgNumber(), attr::ignore);
  Dependence dependence(func, input);
  findIgnorable(dependence);
  std::optional<int64_t> least;
  SmallVector<IdSite> exact;
  for (const IdSite &site : sites) {
    if (!dependence.isWhole(site.operand->get()))
      continue;
    std::optional<int64_t> bound = findBound(site);
    if (!bound || !isExact(site, *bound))
      continue;
    least = std::min(least.value_or(*bound), *bound);
    exact.push_back(site);
  }
  setBound(least, exact);
}

namespace {
struct BoundIds : hone::impl::BoundIdsBase<BoundIds> {
  void runOnOperation() override {
    func::FuncOp func = findPackageFunction(getOperation());
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
