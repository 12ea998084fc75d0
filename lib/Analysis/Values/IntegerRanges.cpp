//===- IntegerRanges.cpp - Integers of a function's values ----------------===//

#include "hone/Analysis/Values/IntegerRanges.h"

#include "hone/Sharding/IR/Dist.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

using Interval = IntervalSet::Interval;

static bool isInteger(Value value) {
  return isa<IntegerType>(elementOf(value));
}

static int64_t sizeOf(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// n terms of x.
static std::optional<Interval> sumOf(Interval x, int64_t n) {
  return interval::mul(x, {n, n});
}

static IntervalSet compare(CmpPredicate predicate, const IntervalSet &lhs,
                           const IntervalSet &rhs) {
  static constexpr CmpPredicate inverse[] = {
      CmpPredicate::ne, CmpPredicate::eq, CmpPredicate::ge,
      CmpPredicate::gt, CmpPredicate::le, CmpPredicate::lt};
  IntervalSet result;
  if (!lhs.where(predicate, rhs).isEmpty())
    result.add({1, 1});
  if (!lhs.where(inverse[unsigned(predicate)], rhs).isEmpty())
    result.add({0, 0});
  return result;
}

static IntervalSet castTo(Type element, const IntervalSet &set) {
  if (!element.isInteger(1))
    return set.map(element, [](Interval x) { return x; });
  return compare(CmpPredicate::ne, set, IntervalSet(0, 0));
}

/// The operand's numbers among zeros, if there are any.
static IntervalSet padded(PadOp op, IntervalSet set) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (!llvm::all_of(op.getLow(), isZero) ||
      !llvm::all_of(op.getHigh(), isZero) ||
      !llvm::all_of(op.getInterior(), isZero))
    set.add({0, 0});
  return set;
}

static IntervalSet reduced(ReduceOp op, const IntervalSet &set) {
  int64_t terms = 1;
  for (int64_t dim : op.getDims())
    terms *= sizeOf(op.getOperand(), dim);
  Type element = elementOf(op.getResult());
  if (op.getKind() == ReduceKind::sum && !set.isEmpty())
    return IntervalSet(set.low(), set.high()).map(element, [&](Interval x) {
      return sumOf(x, terms);
    });
  return terms == 0 ? IntervalSet::all(element) : set;
}

/// Sums of 1 to n terms.
static IntervalSet runningSum(CumsumOp op, const IntervalSet &set) {
  if (set.isEmpty())
    return set;
  int64_t most = std::max<int64_t>(1, sizeOf(op.getResult(), op.getDim()));
  return IntervalSet(set.low(), set.high())
      .map(elementOf(op.getResult()),
           [&](Interval x) { return interval::mul(x, {1, most}); });
}

/// Combinations of updates, and what the combination of nothing gives.
static IntervalSet placed(PutAlongOp op, IntervalSet updates) {
  IntervalSet any = IntervalSet::all(elementOf(op.getResult()));
  if (op.getKind() == ReduceKind::sum)
    return any;
  int64_t nothing = op.getKind() == ReduceKind::max ? any.low() : any.high();
  updates.add({nothing, nothing});
  return updates;
}

static IntervalSet complement(Type element, const IntervalSet &set) {
  bool isBool = element.isInteger(1);
  return set.map(element, [&](Interval x) {
    return isBool ? Interval{1 - x.high, 1 - x.low} : Interval{~x.high, ~x.low};
  });
}

static std::optional<Interval> negated(Interval x) {
  return interval::sub({0, 0}, x);
}

static std::optional<Interval> absolute(Interval x) {
  std::optional<Interval> minus = negated(x);
  if (x.low >= 0 || !minus)
    return x.low >= 0 ? std::optional(x) : std::nullopt;
  return Interval{x.high <= 0 ? minus->low : 0, std::max(x.high, minus->high)};
}

static std::optional<Interval> signOf(Interval x) {
  auto sign = [](int64_t number) -> int64_t {
    return number < 0 ? -1 : number > 0 ? 1 : 0;
  };
  return Interval{sign(x.low), sign(x.high)};
}

static std::optional<Interval> larger(Interval x, Interval y) {
  return Interval{std::max(x.low, y.low), std::max(x.high, y.high)};
}

static std::optional<Interval> smaller(Interval x, Interval y) {
  return Interval{std::min(x.low, y.low), std::min(x.high, y.high)};
}

/// What is left of `set`, that of `value`, where `pred` is `truth`. Looks
/// through `depth` ops: both operands of each.
static IntervalSet refine(IntervalSet set, Value value, Value pred, bool truth,
                          const IntegerRanges &ranges, unsigned depth = 8) {
  Operation *op = pred.getDefiningOp();
  if (depth-- == 0)
    return set;
  if (auto inverse = dyn_cast_or_null<NotOp>(op))
    return refine(set, value, inverse.getOperand(), !truth, ranges, depth);
  if (isa_and_present<AndOp, OrOp>(op)) {
    Value x = op->getOperand(0), y = op->getOperand(1);
    IntervalSet ofX = refine(set, value, x, truth, ranges, depth);
    if (truth == isa<AndOp>(op)) // both are
      return refine(ofX, value, y, truth, ranges, depth);
    ofX.join(refine(set, value, y, truth, ranges, depth));
    return ofX;
  }
  auto cmp = dyn_cast_or_null<CmpOp>(op);
  if (!cmp || !isInteger(cmp.getLhs()))
    return set;
  static constexpr CmpPredicate swapped[] = {
      CmpPredicate::eq, CmpPredicate::ne, CmpPredicate::gt,
      CmpPredicate::ge, CmpPredicate::lt, CmpPredicate::le};
  static constexpr CmpPredicate inverse[] = {
      CmpPredicate::ne, CmpPredicate::eq, CmpPredicate::ge,
      CmpPredicate::gt, CmpPredicate::le, CmpPredicate::lt};
  CmpPredicate predicate = cmp.getPredicate();
  if (!truth)
    predicate = inverse[unsigned(predicate)];
  if (cmp.getLhs() == value)
    set = set.where(predicate, ranges.lookup(cmp.getRhs()));
  if (cmp.getRhs() == value)
    set = set.where(swapped[unsigned(predicate)], ranges.lookup(cmp.getLhs()));
  return set;
}

static IntervalSet chosen(SelectOp op, const IntegerRanges &ranges) {
  IntervalSet result;
  const IntervalSet &pred = ranges.lookup(op.getPred());
  for (auto [value, truth] :
       {std::pair(op.getOnTrue(), true), std::pair(op.getOnFalse(), false)})
    if (!pred.where(CmpPredicate::eq, IntervalSet(truth, truth)).isEmpty())
      result.join(
          refine(ranges.lookup(value), value, op.getPred(), truth, ranges));
  return result;
}

/// What is left over of x by c, spelled out as x - x / c * c: that of a
/// division of integers that rounds down begins so.
static std::optional<IntervalSet> remainder(SubOp op,
                                            const IntegerRanges &ranges) {
  auto product = op.getRhs().getDefiningOp<MulOp>();
  auto quotient = product ? product.getLhs().getDefiningOp<DivOp>() : DivOp();
  if (!quotient || quotient.getLhs() != op.getLhs() ||
      quotient.getRhs() != product.getRhs())
    return std::nullopt;
  const IntervalSet &x = ranges.lookup(op.getLhs());
  const IntervalSet &c = ranges.lookup(product.getRhs());
  if (x.isEmpty() || c.isEmpty() || x.low() < 0 || c.low() < 1)
    return std::nullopt;
  return IntervalSet(0, std::min(x.high(), c.high() - 1));
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

IntegerRanges::IntegerRanges(Block &block) : block(block) {
  for (Operation &op : block)
    if (llvm::any_of(op.getResults(), isInteger))
      ops.push_back(&op);
}

const IntervalSet &IntegerRanges::constant(Operation *op) {
  auto [entry, isNew] = constants.try_emplace(op);
  if (!isNew)
    return entry->second;
  auto elements = dyn_cast<DenseElementsAttr>(cast<ConstantOp>(op).getValue());
  if (!elements)
    return entry->second = IntervalSet::all(elementOf(op->getResult(0)));
  bool isBool = elements.getElementType().isInteger(1);
  if (elements.empty())
    return entry->second;
  Interval range{INT64_MAX, INT64_MIN};
  auto count = [&](const APInt &value) {
    int64_t number =
        isBool ? int64_t(value.getZExtValue()) : value.getSExtValue();
    range = {std::min(range.low, number), std::max(range.high, number)};
  };
  if (elements.isSplat())
    count(elements.getSplatValue<APInt>());
  else
    for (const APInt &value : elements.getValues<APInt>())
      count(value);
  entry->second.add(range);
  return entry->second;
}

const IntervalSet &IntegerRanges::lookup(Value value) const {
  auto entry = sets.find(value);
  assert(entry != sets.end() && "no integer, or not run yet");
  return entry->second;
}

/// The indices of a dimension, as integers of type `element`.
static IntervalSet placesAlong(Value tensor, int64_t dim, Type element) {
  int64_t size = sizeOf(tensor, dim);
  if (size == 0)
    return {};
  return IntervalSet(0, size - 1).map(element, [](Interval x) { return x; });
}

IntervalSet IntegerRanges::infer(Operation *op) {
  Type element = elementOf(op->getResult(0));
  auto of = [&](unsigned index) -> const IntervalSet & {
    return lookup(op->getOperand(index));
  };
  auto unary = [&](IntervalSet::Unary f) { return of(0).map(element, f); };
  auto binary = [&](IntervalSet::Binary f) {
    return of(0).map(element, of(1), f);
  };
  return llvm::TypeSwitch<Operation *, IntervalSet>(op)
      .Case([&](ConstantOp) { return constant(op); })
      .Case([&](IotaOp iota) {
        return placesAlong(iota.getResult(), iota.getDim(), element);
      })
      .Case<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, StopGradientOp,
            dist::ConstrainOp>([&](Operation *) { return of(0); })
      .Case([&](PadOp pad) { return padded(pad, of(0)); })
      .Case([&](ConcatOp concat) {
        IntervalSet result;
        for (Value input : concat.getInputs())
          result.join(lookup(input));
        return result;
      })
      .Case([&](CastOp cast) {
        return isInteger(cast.getOperand()) ? castTo(element, of(0))
                                            : IntervalSet::all(element);
      })
      .Case([&](NegOp) { return unary(negated); })
      .Case([&](AbsOp) { return unary(absolute); })
      .Case([&](SignOp) { return unary(signOf); })
      .Case([&](NotOp) { return complement(element, of(0)); })
      .Case([&](AddOp) { return binary(interval::add); })
      .Case([&](SubOp sub) {
        std::optional<IntervalSet> rest = remainder(sub, *this);
        return rest ? *rest : binary(interval::sub);
      })
      .Case([&](MulOp) { return binary(interval::mul); })
      .Case([&](DivOp) { return binary(interval::div); })
      .Case([&](MaxOp) { return binary(larger); })
      .Case([&](MinOp) { return binary(smaller); })
      .Case([&](AndOp) { return binary(interval::bitAnd); })
      .Case([&](OrOp) { return binary(interval::bitOr); })
      .Case([&](CmpOp cmp) {
        return isInteger(cmp.getLhs())
                   ? compare(cmp.getPredicate(), of(0), of(1))
                   : IntervalSet(0, 1);
      })
      .Case([&](SelectOp select) { return chosen(select, *this); })
      .Case([&](ReduceOp reduce) { return reduced(reduce, of(0)); })
      .Case([&](CumsumOp cumsum) { return runningSum(cumsum, of(0)); })
      .Case<ArgmaxOp, ArgsortOp, TopkOp>([&](auto order) {
        return placesAlong(order.getOperand(), order.getDim(), element);
      })
      .Case([&](TakeAlongOp) { return of(0); })
      .Case([&](PutAlongOp put) { return placed(put, of(0)); })
      .Default([&](Operation *) { return IntervalSet::all(element); });
}

void IntegerRanges::run(const Arguments &arguments) {
  sets.clear();
  for (BlockArgument argument : block.getArguments()) {
    if (!isInteger(argument))
      continue;
    auto given = arguments.find(argument);
    sets[argument] = given != arguments.end()
                         ? given->second
                         : IntervalSet::all(elementOf(argument));
  }
  for (Operation *op : ops) {
    IntervalSet first = isInteger(op->getResult(0)) ? infer(op) : IntervalSet();
    for (Value result : op->getResults())
      if (isInteger(result))
        sets[result] = op->getNumResults() == 1
                           ? first
                           : IntervalSet::all(elementOf(result));
  }
}

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

SmallVector<IdSite> hone::findIdSites(Block &block) {
  SmallVector<IdSite> sites;
  for (Operation &op : block)
    if (auto indexed = dyn_cast<IndexedOpInterface>(op))
      for (const IdOperand &ids : indexed.getIdOperands())
        sites.push_back({&op.getOpOperand(ids.index), ids});
  return sites;
}

IntegerRanges::Arguments hone::boundsOfInputs(func::FuncOp func) {
  IntegerRanges::Arguments bounds;
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto vocab = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
    if (!vocab || !isInteger(argument))
      continue;
    IntervalSet every = IntervalSet::all(elementOf(argument));
    IntervalSet &set = bounds[argument];
    set.add({0, std::min(vocab.getInt() - 1, every.high())});
    if (auto ignored = func.getArgAttrOfType<IntegerAttr>(index, attr::ignore))
      set.add({ignored.getInt(), ignored.getInt()});
  }
  return bounds;
}

std::string hone::describeTable(const IdSite &site) {
  bool isLoss = site.ids.ignored.has_value();
  return (site.op()->getName().stripDialect() + " of " + Twine(site.ids.size) +
          (isLoss ? " classes" : " rows"))
      .str();
}
