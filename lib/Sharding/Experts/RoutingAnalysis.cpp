//===- RoutingAnalysis.cpp - What indices of routed rows mean -------------===//

#include "RoutingAnalysis.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Kind = RoutedValue::Kind;

static RoutedValue number(double low, double high) {
  RoutedValue value;
  value.low = low;
  value.high = high;
  return value;
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// What the op makes of elements, in the roundings of its type; nothing for an
/// op that is not known, or has no result for them.
static std::optional<double> evaluate(Operation *op, ArrayRef<double> x) {
  Type element = elementOf(op->getResult(0));
  auto rounded = [&](double value) -> std::optional<double> {
    if (!std::isfinite(value))
      return std::nullopt;
    if (element.isInteger(1))
      return value != 0;
    if (isa<IntegerType>(element))
      return std::trunc(value);
    if (element.isF64())
      return value;
    return element.isF32() ? std::optional<double>(float(value)) : std::nullopt;
  };
  auto compared = [&](CmpPredicate predicate) -> double {
    switch (predicate) {
    case CmpPredicate::eq:
      return x[0] == x[1];
    case CmpPredicate::ne:
      return x[0] != x[1];
    case CmpPredicate::lt:
      return x[0] < x[1];
    case CmpPredicate::le:
      return x[0] <= x[1];
    case CmpPredicate::gt:
      return x[0] > x[1];
    case CmpPredicate::ge:
      return x[0] >= x[1];
    }
    llvm_unreachable("unknown predicate");
  };
  bool isBool = element.isInteger(1);
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](CastOp) { return rounded(x[0]); })
      .Case([&](AddOp) { return rounded(x[0] + x[1]); })
      .Case([&](SubOp) { return rounded(x[0] - x[1]); })
      .Case([&](MulOp) { return rounded(x[0] * x[1]); })
      .Case([&](DivOp) {
        return x[1] == 0 ? std::nullopt : rounded(x[0] / x[1]);
      })
      .Case([&](MaxOp) { return rounded(std::max(x[0], x[1])); })
      .Case([&](MinOp) { return rounded(std::min(x[0], x[1])); })
      .Case([&](CmpOp cmp) { return rounded(compared(cmp.getPredicate())); })
      .Case([&](SelectOp) { return rounded(x[0] != 0 ? x[1] : x[2]); })
      .Case([&](AndOp) { return isBool ? rounded(x[0] * x[1]) : std::nullopt; })
      .Case([&](OrOp) {
        return isBool ? rounded(std::max(x[0], x[1])) : std::nullopt;
      })
      .Case([&](NotOp) { return isBool ? rounded(1 - x[0]) : std::nullopt; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The results where each operand is anywhere in its range: the ops are
/// monotonic in each operand, but for those that are left out.
static std::optional<RoutedValue> rangeOf(Operation *op,
                                          ArrayRef<RoutedValue> operands) {
  bool isChoice = isa<SelectOp>(op) && !operands[0].isConstant();
  if (isChoice)
    return number(std::min(operands[1].low, operands[2].low),
                  std::max(operands[1].high, operands[2].high));
  if (isa<DivOp>(op) && operands[1].low <= 0 && operands[1].high >= 0)
    return std::nullopt;
  if (auto cmp = dyn_cast<CmpOp>(op)) {
    bool isEquality = cmp.getPredicate() == CmpPredicate::eq ||
                      cmp.getPredicate() == CmpPredicate::ne;
    bool isDisjoint = operands[0].high < operands[1].low ||
                      operands[1].high < operands[0].low;
    bool areConstant = operands[0].isConstant() && operands[1].isConstant();
    if (isEquality && !isDisjoint && !areConstant)
      return number(0, 1);
  }
  std::optional<RoutedValue> range;
  for (unsigned corner = 0; corner != 1u << operands.size(); ++corner) {
    SmallVector<double> x;
    for (auto [index, operand] : llvm::enumerate(operands))
      x.push_back(corner >> index & 1 ? operand.high : operand.low);
    std::optional<double> value = evaluate(op, x);
    if (!value)
      return std::nullopt;
    range = range ? number(std::min(range->low, *value),
                           std::max(range->high, *value))
                  : number(*value, *value);
  }
  return range;
}

/// The operand that the op returns, given the ranges; none if it may not.
static std::optional<unsigned> unchanged(Operation *op,
                                         ArrayRef<RoutedValue> x) {
  auto is = [&](unsigned index, double value) {
    return x[index].low == value && x[index].high == value;
  };
  auto either = [&](bool isFirst, bool isSecond) -> std::optional<unsigned> {
    return isFirst    ? std::optional<unsigned>(0)
           : isSecond ? std::optional<unsigned>(1)
                      : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, std::optional<unsigned>>(op)
      .Case([&](AddOp) { return either(is(1, 0), is(0, 0)); })
      .Case([&](SubOp) { return either(is(1, 0), false); })
      .Case([&](MulOp) { return either(is(1, 1), is(0, 1)); })
      .Case([&](DivOp) { return either(is(1, 1), false); })
      .Case([&](MaxOp) {
        return either(x[0].low >= x[1].high, x[1].low >= x[0].high);
      })
      .Case([&](MinOp) {
        return either(x[0].high <= x[1].low, x[1].high <= x[0].low);
      })
      .Case([&](SelectOp) -> std::optional<unsigned> {
        if (!x[0].isConstant())
          return std::nullopt;
        return x[0].low != 0 ? 1 : 2;
      })
      .Case([&](CastOp cast) -> std::optional<unsigned> {
        Type element = elementOf(cast.getResult());
        bool isWide = element.isInteger(64) || element.isInteger(32) ||
                      element.isF64() || element.isF32();
        // Those that f32 holds.
        bool isSmall = x[0].low >= 0 && x[0].high <= double(1 << 24);
        bool isIntegral = x[0].kind == Kind::Counts ||
                          isa<IntegerType>(elementOf(cast.getOperand()));
        return isWide && isSmall && isIntegral ? std::optional<unsigned>(0)
                                               : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<RoutedValue>
RoutingAnalysis::inferElements(Operation *op,
                               ArrayRef<RoutedValue> operands) const {
  if (std::optional<unsigned> same = unchanged(op, operands))
    return operands[*same];
  const RoutedValue *first = nullptr; // that is no number
  for (const RoutedValue &operand : operands)
    if (!first && operand.kind != Kind::Number)
      first = &operand;
  bool areOfExpert = first && first->kind == Kind::Expert &&
                     llvm::all_of(operands, [&](const RoutedValue &operand) {
                       return operand.kind == Kind::Number
                                  ? operand.isConstant()
                                  : operand.kind == Kind::Expert &&
                                        operand.ids == first->ids &&
                                        operand.isSorted == first->isSorted;
                     });
  if (areOfExpert) {
    RoutedValue made = *first;
    for (auto [expert, value] : llvm::enumerate(made.table)) {
      SmallVector<double> x;
      for (const RoutedValue &operand : operands)
        x.push_back(operand.kind == Kind::Expert ? operand.table[expert]
                                                 : operand.low);
      std::optional<double> result = evaluate(op, x);
      if (!result)
        return std::nullopt;
      value = *result;
    }
    made.low = *llvm::min_element(made.table);
    made.high = *llvm::max_element(made.table);
    return made;
  }
  std::optional<RoutedValue> range = rangeOf(op, operands);
  if (range && isa<DivOp>(op) && operands[0].kind == Kind::Slot &&
      operands[1].isConstant() &&
      isa<IntegerType>(elementOf(op->getResult(0)))) {
    RoutedValue made = operands[0];
    made.divisor *= int64_t(operands[1].low);
    made.low = range->low;
    made.high = range->high;
    return made;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

RoutingAnalysis::RoutingAnalysis(func::FuncOp func) : ranges(func.front()) {
  ranges.run(boundsOfInputs(func));
  for (Operation &op : func.front())
    if (op.getNumResults() == 1)
      visit(&op);
}

std::optional<RoutedValue> RoutingAnalysis::lookup(Value value) const {
  auto entry = values.find(value);
  if (entry != values.end())
    return entry->second;
  if (!isa<IntegerType>(elementOf(value)) || ranges.lookup(value).isEmpty())
    return std::nullopt;
  const IntervalSet &set = ranges.lookup(value);
  return number(double(set.low()), double(set.high()));
}

bool RoutingAnalysis::is(Value value, Kind kind, Value ids) const {
  auto entry = values.find(value);
  if (entry == values.end() || entry->second.kind != kind ||
      entry->second.ids != ids)
    return false;
  bool isPerSlot = kind == Kind::Slot || kind == Kind::Expert;
  return !isPerSlot || entry->second.isSorted;
}

/// Whether the elements are integers from 0 on, and few.
bool RoutingAnalysis::isExpert(Value ids) const {
  constexpr int64_t mostExperts = 1 << 16;
  if (!isa<IntegerType>(elementOf(ids)) || ranges.lookup(ids).isEmpty())
    return false;
  const IntervalSet &set = ranges.lookup(ids);
  return set.low() >= 0 && set.high() < mostExperts;
}

int64_t RoutingAnalysis::expertsOf(Value ids) const {
  return ranges.lookup(ids).high() + 1;
}

static bool isLine(Value value) { return shapeOf(value).size() == 1; }

/// Ops that order slots, or count them.
std::optional<RoutedValue> RoutingAnalysis::inferOrder(Operation *op) const {
  auto slots = [&](Value ids, bool isSorted) {
    RoutedValue made = number(0, double(elementsOf(op->getResult(0)) - 1));
    made.kind = Kind::Slot;
    made.ids = ids;
    made.isSorted = isSorted;
    return made;
  };
  auto places = [&](Value ids) {
    RoutedValue made = slots(ids, false);
    made.kind = Kind::Place;
    return made;
  };
  auto isWholeSlot = [&](Value value, bool isSorted) {
    std::optional<RoutedValue> own = lookup(value);
    return own && own->kind == Kind::Slot && own->divisor == 1 &&
           own->isSorted == isSorted;
  };
  if (auto iota = dyn_cast<IotaOp>(op); iota && isLine(iota.getResult()))
    return slots({}, false);
  if (auto sort = dyn_cast<ArgsortOp>(op);
      sort && isLine(sort.getResult()) && !sort.getDescending()) {
    if (isWholeSlot(sort.getOperand(), true))
      return places(lookup(sort.getOperand())->ids);
    if (isExpert(sort.getOperand()))
      return slots(sort.getOperand(), true);
  }
  if (auto take = dyn_cast<TakeAlongOp>(op); take && isLine(take.getResult())) {
    std::optional<RoutedValue> from = lookup(take.getOperand());
    std::optional<RoutedValue> at = lookup(take.getIds());
    if (from && from->kind == Kind::Slot && !from->ids && from->divisor == 1 &&
        at)
      return at; // place i holds i
    if (!isWholeSlot(take.getIds(), true))
      return std::nullopt;
    if (at->ids == take.getOperand()) {
      RoutedValue made = *at;
      made.kind = Kind::Expert;
      for (int64_t expert = 0; expert != expertsOf(at->ids); ++expert)
        made.table.push_back(double(expert));
      made.high = made.table.back();
      return made;
    }
    if (from && from->kind == Kind::Slot && !from->ids) {
      from->ids = at->ids;
      from->isSorted = true;
      return from;
    }
  }
  if (auto put = dyn_cast<PutAlongOp>(op); put && isLine(put.getResult())) {
    std::optional<RoutedValue> updates = lookup(put.getUpdates());
    std::optional<RoutedValue> at = lookup(put.getIds());
    if (!updates || !at)
      return std::nullopt;
    bool isInverse = isWholeSlot(put.getUpdates(), false) &&
                     isWholeSlot(put.getIds(), true) &&
                     elementsOf(put.getResult()) == elementsOf(put.getIds());
    if (isInverse)
      return places(at->ids);
    bool countsSlots = put.getKind() == ReduceKind::sum && updates->low == 1 &&
                       updates->high == 1 && at->kind == Kind::Expert;
    for (auto [expert, own] : llvm::enumerate(at->table))
      countsSlots &= own == double(expert);
    if (countsSlots &&
        elementsOf(put.getResult()) == int64_t(at->table.size())) {
      RoutedValue made = number(0, double(elementsOf(put.getIds())));
      made.kind = Kind::Counts;
      made.ids = at->ids;
      return made;
    }
  }
  if (auto sum = dyn_cast<CumsumOp>(op); sum && isLine(sum.getResult())) {
    std::optional<RoutedValue> counts = lookup(sum.getOperand());
    if (counts && counts->kind == Kind::Counts && !sum.getReverse()) {
      counts->kind = Kind::Ends;
      return counts;
    }
  }
  return std::nullopt;
}

std::optional<RoutedValue> RoutingAnalysis::infer(Operation *op) const {
  if (std::optional<RoutedValue> order = inferOrder(op))
    return order;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    std::optional<double> splat = splatOf(constant.getValue());
    return splat ? std::optional(number(*splat, *splat)) : std::nullopt;
  }
  SmallVector<RoutedValue> operands;
  for (Value operand : op->getOperands()) {
    std::optional<RoutedValue> own = lookup(operand);
    if (!own)
      return std::nullopt;
    operands.push_back(std::move(*own));
  }
  if (operands.empty())
    return std::nullopt;
  if (isa<ReshapeOp, BroadcastOp, StopGradientOp>(op)) {
    if (elementsOf(op->getOperand(0)) == elementsOf(op->getResult(0)))
      return operands[0];
    return number(operands[0].low, operands[0].high);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::sum
               ? std::nullopt
               : std::optional(number(operands[0].low, operands[0].high));
  if (operands.size() > 3 ||
      shapeOf(op->getOperand(0)) != shapeOf(op->getResult(0)))
    return std::nullopt;
  return inferElements(op, operands);
}

void RoutingAnalysis::visit(Operation *op) {
  Value result = op->getResult(0);
  std::optional<RoutedValue> made = infer(op);
  if (!made)
    return;
  // Relations between values that ranges know, as of a remainder.
  if (isa<IntegerType>(elementOf(result)) && !ranges.lookup(result).isEmpty()) {
    made->low = std::max(made->low, double(ranges.lookup(result).low()));
    made->high = std::min(made->high, double(ranges.lookup(result).high()));
  }
  values[result] = std::move(*made);
}
