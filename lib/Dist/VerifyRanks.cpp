//===- VerifyRanks.cpp - Whether ranks agree where they must --------------===//

#include "hone/Dist/Passes.h"
#include "hone/Dist/ShardingRule.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {
#define GEN_PASS_DEF_DISTVERIFY
#include "hone/Dist/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

namespace {
/// How the numbers that ranks hold in a value differ along an axis.
struct Difference {
  enum Kind {
    Parts, ///< of one of `dims`
    Terms, ///< of a sum
    Other  ///< numbers of a rank's own: where it stands, its largest logit
  };
  Kind kind;
  llvm::SmallDenseSet<unsigned, 2> dims;
  Operation *begin; ///< the op, or for an argument the function, where it began
};

/// By axis; ranks along others hold the same.
using Differences = llvm::SmallMapVector<unsigned, Difference, 4>;

class RankAnalysis {
public:
  RankAnalysis(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult compute(Operation *op);
  LogicalResult takeTerms(Operation *op, unsigned axis,
                          const Difference &terms);
  llvm::SmallDenseSet<int>
  dividedFactors(Operation *op, const ShardingRule &rule, unsigned axis) const;
  void takeParts(Operation *op, const ShardingRule &rule, unsigned axis,
                 Operation *begin);
  LogicalResult checkResult(unsigned index, Value value);
  const Difference *of(Value value, unsigned axis) const {
    auto found = differences.find(value);
    if (found == differences.end())
      return nullptr;
    auto entry = found->second.find(axis);
    return entry == found->second.end() ? nullptr : &entry->second;
  }
  /// What a sharding says of the values that have it.
  Differences differencesOf(ShardingAttr attr, Operation *begin) const;

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, Differences> differences;
  /// Values that are perhaps parts or terms, whatever the rank: of what repeats
  /// one number, as constants and broadcasts do.
  llvm::DenseSet<Value> uniform;
};
} // namespace

/// Whether a result has elements along a factor that no operand has.
static bool repeats(const ShardingRule &rule) {
  llvm::SmallDenseSet<int> read;
  for (unsigned tensor = 0; tensor != rule.numOperands(); ++tensor)
    for (const DimensionFactors &own : rule.factorsOf(tensor))
      read.insert(own.begin(), own.end());
  for (unsigned tensor = rule.numOperands(); tensor != rule.numTensors();
       ++tensor)
    for (const DimensionFactors &own : rule.factorsOf(tensor))
      for (int factor : own)
        if (!read.contains(factor))
          return true;
  return rule.numOperands() == 0;
}

Differences RankAnalysis::differencesOf(ShardingAttr attr,
                                        Operation *begin) const {
  Differences found;
  if (!attr)
    return found;
  Sharding sharding = toSharding(attr, mesh);
  for (auto [dim, shards] : llvm::enumerate(sharding.dims))
    for (unsigned axis : shards.axes)
      found.insert({axis, {Difference::Parts, {unsigned(dim)}, begin}});
  for (unsigned axis : sharding.partial)
    found.insert({axis, {Difference::Terms, {}, begin}});
  return found;
}

//===----------------------------------------------------------------------===//
// Ops on a rank
//===----------------------------------------------------------------------===//

/// Terms give terms where the op is linear in all of them together, and what
/// ranks have of their own is given the benefit of the doubt. Rounding each of
/// them to a narrower type is the partitioner's to decide.
LogicalResult RankAnalysis::takeTerms(Operation *op, unsigned axis,
                                      const Difference &terms) {
  auto kindOf = [&](unsigned index) {
    const Difference *own = of(op->getOperand(index), axis);
    return own ? std::optional(own->kind) : std::nullopt;
  };
  auto isUniform = [&](unsigned index) {
    return !kindOf(index) && uniform.contains(op->getOperand(index));
  };
  OperandSets sets = cast<HoneOpInterface>(op).getLinearOperands();
  if (isa<CastOp>(op))
    sets = {{0}};
  for (ArrayRef<unsigned> set : sets) {
    bool isAll = true, hasOther = false;
    for (unsigned index = 0; index != op->getNumOperands(); ++index) {
      std::optional<Difference::Kind> kind = kindOf(index);
      hasOther |= kind == Difference::Other;
      isAll &= kind == Difference::Other ||
               (llvm::is_contained(set, index)
                    ? kind == Difference::Terms || isUniform(index)
                    : !kind.has_value());
    }
    if (!isAll)
      continue;
    Difference found = terms;
    if (hasOther)
      found.kind = Difference::Other;
    for (Value result : op->getResults())
      differences[result].insert({axis, found});
    return success();
  }
  InFlightDiagnostic diag =
      op->emitOpError()
      << "takes terms of a sum over axis \"" << mesh[axis].name
      << "\" as if they were the sum: expected a sum over that axis before";
  diag.attachNote(terms.begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// The factors of which one, whichever it is, the operands that differ along
/// `axis` are parts of; none where they are no such parts.
llvm::SmallDenseSet<int> RankAnalysis::dividedFactors(Operation *op,
                                                      const ShardingRule &rule,
                                                      unsigned axis) const {
  std::optional<llvm::SmallDenseSet<int>> factors;
  for (unsigned tensor = 0; tensor != rule.numOperands(); ++tensor) {
    const Difference *own = of(op->getOperand(tensor), axis);
    if (!own)
      continue;
    if (own->kind != Difference::Parts)
      return {};
    llvm::SmallDenseSet<int> perhaps;
    for (unsigned dim : own->dims)
      for (int factor : rule.factorsOf(tensor)[dim])
        if (!factors || factors->contains(factor))
          perhaps.insert(factor);
    factors = std::move(perhaps);
  }
  return *factors;
}

/// Parts of an independent factor give parts of a result that has it, and terms
/// of one that is a sum over it.
void RankAnalysis::takeParts(Operation *op, const ShardingRule &rule,
                             unsigned axis, Operation *begin) {
  llvm::SmallDenseSet<int> factors = dividedFactors(op, rule, axis);
  auto areAll = [&](auto... kinds) {
    return !factors.empty() && llvm::all_of(factors, [&](int factor) {
      return ((rule.factors()[factor].kind == kinds) || ...);
    });
  };
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Difference found = {Difference::Other, {}, begin};
    unsigned tensor = rule.numOperands() + index;
    bool isKnown = true;
    for (auto [dim, own] : llvm::enumerate(rule.factorsOf(tensor))) {
      if (llvm::any_of(own,
                       [&](int factor) { return factors.contains(factor); }))
        found.dims.insert(dim);
      // Perhaps it is the one that was divided, into parts of one element.
      isKnown &= !own.empty() || rule.shapeOf(tensor)[dim] != 1;
    }
    if (!isKnown)
      found.dims.clear();
    else if (!found.dims.empty() &&
             areAll(FactorKind::Parallel, FactorKind::Reduce,
                    FactorKind::Gather))
      found.kind = Difference::Parts;
    else if (found.dims.empty() && areAll(FactorKind::Reduce) && rule.isSum())
      found = {Difference::Terms, {}, op};
    differences[result].insert({axis, std::move(found)});
  }
}

LogicalResult RankAnalysis::compute(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  if (repeats(*rule) || llvm::any_of(op->getOperands(), [&](Value operand) {
        return uniform.contains(operand);
      }))
    uniform.insert(op->result_begin(), op->result_end());
  for (unsigned axis = 0; axis != mesh.numAxes(); ++axis) {
    const Difference *first = nullptr, *terms = nullptr;
    for (Value operand : op->getOperands())
      if (const Difference *own = of(operand, axis)) {
        first = first ? first : own;
        if (!terms && own->kind == Difference::Terms)
          terms = own;
      }
    if (terms && failed(takeTerms(op, axis, Difference(*terms))))
      return failure();
    if (first && !terms)
      takeParts(op, *rule, axis, first->begin);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops between ranks
//===----------------------------------------------------------------------===//

LogicalResult RankAnalysis::visit(Operation *op) {
  if (!isa<DistDialect>(op->getDialect()))
    return compute(op);
  Differences found;
  if (op->getNumOperands() != 0)
    found = differences.lookup(op->getOperand(0));
  auto end = [&](ArrayAttr axes) {
    for (unsigned axis : axesOf(axes, mesh))
      found.erase(axis);
  };
  auto begin = [&](ArrayAttr axes, Difference::Kind kind, unsigned dim) {
    for (unsigned axis : axesOf(axes, mesh)) {
      Operation *first = found.contains(axis) ? found[axis].begin : op;
      found.erase(axis);
      found.insert({axis, {kind, {dim}, first}});
    }
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<AllReduceOp, AllGatherOp>([&](auto op) { end(op.getAxes()); })
      .Case<ShardOp, ReduceScatterOp>(
          [&](auto op) { begin(op.getAxes(), Difference::Parts, op.getDim()); })
      .Case([&](AllToAllOp op) {
        begin(op.getAxes(), Difference::Parts, op.getTo());
      })
      .Case(
          [&](CoordinateOp op) { begin(op.getAxes(), Difference::Other, 0); });
  differences[op->getResult(0)] = std::move(found);
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult RankAnalysis::checkResult(unsigned index, Value value) {
  Differences allowed = differencesOf(
      func.getResultAttrOfType<ShardingAttr>(index, shardingAttr), func);
  for (auto &[axis, own] : differences[value]) {
    auto wanted = allowed.find(axis);
    bool isWanted = wanted != allowed.end();
    bool isTerm = own.kind == Difference::Terms;
    bool wantsTerm = isWanted && wanted->second.kind == Difference::Terms;
    if (isWanted && (own.kind == Difference::Other || isTerm == wantsTerm))
      continue;
    InFlightDiagnostic diag = func.emitError()
                              << "result " << index
                              << " differs between ranks along axis \""
                              << mesh[axis].name;
    if (isWanted)
      diag << "\" as " << (isTerm ? "terms of a sum" : "parts") << ", expected "
           << (wantsTerm ? "terms of a sum" : "parts");
    else
      diag << "\", which does not divide it: expected a sum or a gather over "
              "that axis";
    diag.attachNote(own.begin->getLoc()) << "ranks begin to differ here";
    return diag;
  }
  for (auto &[axis, wanted] : allowed)
    if (wanted.kind == Difference::Terms && !of(value, axis) &&
        !uniform.contains(value))
      return func.emitError()
             << "result " << index << " is the same on ranks along axis \""
             << mesh[axis].name << "\", expected terms of a sum";
  return success();
}

LogicalResult RankAnalysis::run() {
  Block &block = func.getBody().front();
  for (BlockArgument arg : block.getArguments())
    differences[arg] = differencesOf(
        func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(), shardingAttr),
        func);
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (failed(checkResult(index, value)))
      return failure();
  return success();
}

namespace {
struct DistVerify : hone::impl::DistVerifyBase<DistVerify> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(RankAnalysis(func, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
