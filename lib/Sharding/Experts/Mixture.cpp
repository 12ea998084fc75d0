//===- Mixture.cpp - The ops of a mixture of experts ----------------------===//

#include "Mixture.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Kind = RoutedValue::Kind;

/// Whether the op, some of whose operands are rows, makes each row of its
/// result of the same rows of these: of dimension 0 it keeps everything.
static bool isByRow(Operation *op, int64_t rows) {
  if (op->getNumResults() != 1)
    return false;
  ArrayRef<int64_t> made = shapeOf(op->getResult(0));
  if (made.empty() || made[0] != rows)
    return false;
  auto keeps = [](ArrayRef<int64_t> sizes, int64_t expected) {
    return sizes[0] == expected;
  };
  auto isInner = [](int64_t dim) { return dim > 0; };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<GroupedDotOp, ReshapeOp>([](auto) { return true; })
      .Case([&](SliceOp slice) { return keeps(slice.getStarts(), 0); })
      .Case([&](PadOp pad) {
        return keeps(pad.getLow(), 0) && keeps(pad.getInterior(), 0);
      })
      .Case([&](BroadcastOp cast) { return cast.getDims().front() == 0; })
      .Case([&](ConcatOp concat) { return isInner(concat.getDim()); })
      .Case([&](ReduceOp reduce) {
        return llvm::all_of(reduce.getDims(), isInner);
      })
      .Default([&](Operation *other) {
        auto facts = dyn_cast<HoneOpInterface>(other);
        return facts && facts.getKernelFamily() == KernelFamily::map &&
               llvm::all_of(other->getOperands(), [&](Value operand) {
                 return shapeOf(operand) == made;
               });
      });
}

/// Whether every row of a value is the same, and no row of a routing.
static bool hasEqualRows(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return bool(splatOf(constant.getValue()));
  auto broadcast = dyn_cast_or_null<BroadcastOp>(op);
  return broadcast && !llvm::is_contained(broadcast.getDims(), 0);
}

namespace {
class Finder {
public:
  Finder(Value ids, const RoutingAnalysis &routing) : routing(routing) {
    mixture.ids = ids;
    mixture.experts = routing.expertsOf(ids);
    mixture.slotsPerToken = 0;
  }

  std::variant<Mixture, MixtureProblem> find(GroupedDotOp product);

private:
  bool isRows(Value value) const {
    return mixture.ops.contains(value.getDefiningOp());
  }
  bool fail(Operation *op, std::string expected) {
    problem = {op, std::move(expected)};
    return false;
  }
  bool addSource(EmbeddingOp pick);
  bool addRows(Operation *op);
  bool addTail(EmbeddingOp out);
  bool isWholeSum(ReduceOp sum) const;

  const RoutingAnalysis &routing;
  Mixture mixture;
  MixtureProblem problem{};
};
} // namespace

/// Rows of tokens are picked by slot over the slots of a token.
bool Finder::addSource(EmbeddingOp pick) {
  int64_t divisor = routing.lookup(pick.getIds())->divisor;
  if (shapeOf(pick.getIds()).size() != 1 ||
      shapeOf(pick.getTable())[0] * divisor != mixture.slots())
    return fail(pick, "a row for each slot or for each token");
  mixture.slotsPerToken = std::max(mixture.slotsPerToken, divisor);
  mixture.ops.insert(pick);
  return true;
}

bool Finder::addRows(Operation *op) {
  if (auto product = dyn_cast<GroupedDotOp>(op);
      product && (isRows(product.getWeight()) ||
                  !routing.is(product.getEnds(), Kind::Ends, mixture.ids)))
    return fail(op, "the ends of the routing that its rows are sorted by");
  if (!isByRow(op, mixture.slots()))
    return fail(op, "an op that computes each row by itself");
  if (!isa<GroupedDotOp>(op))
    for (Value operand : op->getOperands())
      if (!isRows(operand) && !hasEqualRows(operand))
        return fail(op, "operands that are rows in the order of experts, or "
                        "have equal rows");
  mixture.ops.insert(op);
  return true;
}

/// Whether the sum is over the slots of a token.
bool Finder::isWholeSum(ReduceOp sum) const {
  ArrayRef<int64_t> shape = shapeOf(sum.getOperand());
  return sum.getKind() == ReduceKind::sum && shape.size() == 3 &&
         shape[1] == mixture.slotsPerToken &&
         shape[0] * shape[1] == mixture.slots() &&
         sum.getDims() == ArrayRef<int64_t>(1);
}

bool Finder::addTail(EmbeddingOp out) {
  constexpr const char *expected =
      "a sum over the results of a token, and no other reader";
  if (!mixture.tail.empty())
    return fail(out, "one place where results return to their tokens");
  Operation *op = out;
  mixture.tail.push_back(op);
  while (true) {
    if (!op->hasOneUse())
      return fail(op, expected);
    op = *op->user_begin();
    mixture.tail.push_back(op);
    if (auto sum = dyn_cast<ReduceOp>(op))
      return isWholeSum(sum) || fail(op, expected);
    if (!isa<CastOp, ReshapeOp>(op))
      return fail(op, expected);
  }
}

/// Adds the readers of rows until the results leave by their places.
std::variant<Mixture, MixtureProblem> Finder::find(GroupedDotOp product) {
  SmallVector<EmbeddingOp> outs;
  for (Operation &op : product->getBlock()->without_terminator()) {
    auto pick = dyn_cast<EmbeddingOp>(&op);
    bool isAdded = true;
    if (pick && routing.is(pick.getIds(), Kind::Slot, mixture.ids))
      isAdded = addSource(pick);
    else if (pick && isRows(pick.getTable()) &&
             routing.is(pick.getIds(), Kind::Place, mixture.ids))
      outs.push_back(pick);
    else if (llvm::any_of(op.getOperands(),
                          [&](Value operand) { return isRows(operand); }))
      isAdded = addRows(&op);
    if (!isAdded)
      return problem;
  }
  if (!mixture.ops.contains(product))
    fail(product, "rows picked by an order of experts");
  else if (outs.empty())
    fail(product, "results that return to their tokens");
  else if (llvm::all_of(outs, [&](EmbeddingOp out) { return addTail(out); }))
    return mixture;
  return problem;
}

std::variant<Mixture, MixtureProblem>
dist::findMixture(GroupedDotOp product, const RoutingAnalysis &routing) {
  std::optional<RoutedValue> ends = routing.lookup(product.getEnds());
  if (!ends || ends->kind != Kind::Ends)
    return MixtureProblem{product, "ends that are running counts of ids which "
                                   "hone.argsort has sorted"};
  return Finder(ends->ids, routing).find(product);
}
