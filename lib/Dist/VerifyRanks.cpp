//===- VerifyRanks.cpp - Whether ranks agree where they must --------------===//

#include "hone/Dist/Passes.h"
#include "hone/Dist/ShardingRule.h"

#include "llvm/ADT/SmallBitVector.h"
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
  /// Whether `dims` went through a reshape: it may have put one that was
  /// divided into parts of one element beside them.
  bool isMoved = false;
};

/// Nothing where ranks along the axis hold the same.
using Agreement = std::optional<Difference>;

/// By axis; ranks along others hold the same.
using Differences = llvm::SmallMapVector<unsigned, Difference, 4>;

class RankAnalysis {
public:
  RankAnalysis(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult compute(Operation *op);
  LogicalResult exchange(Operation *op, ArrayAttr axes, const Agreement &wanted,
                         const Agreement &made);
  LogicalResult refuse(Operation *op, unsigned axis, const Agreement &wanted);
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
  bool isUniform(Value value, unsigned axis) const {
    auto found = uniform.find(value);
    return found != uniform.end() && found->second.test(axis);
  }
  /// What a sharding says of the values that have it.
  Differences differencesOf(ShardingAttr attr, Operation *begin) const;

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, Differences> differences;
  /// The axes along which values that are the same are perhaps parts or terms:
  /// of what repeats one number, as constants and broadcasts do.
  llvm::DenseMap<Value, llvm::SmallBitVector> uniform;
};
} // namespace

static Difference partsOf(unsigned dim) {
  return {Difference::Parts, {dim}, nullptr};
}

/// What ranks combine: terms of a sum are of no maximum.
static Difference combinedBy(ReduceKind kind) {
  return {kind == ReduceKind::sum ? Difference::Terms : Difference::Other,
          {},
          nullptr};
}

static std::string describe(const Difference &own) {
  if (own.kind == Difference::Terms)
    return "terms of a sum";
  if (own.kind == Difference::Other)
    return "numbers of their own";
  SmallVector<unsigned> dims(own.dims.begin(), own.dims.end());
  llvm::sort(dims);
  std::string text = "parts of dimension ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, " or ");
  return text;
}

/// Whether ranks that differ so are perhaps as `wanted`.
static bool isPerhaps(const Difference &own, const Agreement &wanted) {
  if (own.kind == Difference::Other)
    return true;
  return wanted && own.kind == wanted->kind &&
         (own.kind != Difference::Parts || own.isMoved ||
          llvm::any_of(wanted->dims,
                       [&](unsigned dim) { return own.dims.contains(dim); }));
}

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
    return !kindOf(index) && this->isUniform(op->getOperand(index), axis);
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
  bool isMoved =
      isa<ReshapeOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
        const Difference *own = of(operand, axis);
        return own && own->isMoved;
      });
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Difference found = {Difference::Other, {}, begin, isMoved};
    unsigned tensor = rule.numOperands() + index;
    bool isKnown = true;
    llvm::SmallDenseSet<int> kept;
    for (auto [dim, own] : llvm::enumerate(rule.factorsOf(tensor))) {
      for (int factor : own)
        if (factors.contains(factor)) {
          found.dims.insert(dim);
          kept.insert(factor);
        }
      // Perhaps it is the one that was divided, into parts of one element.
      isKnown &= !own.empty() || rule.shapeOf(tensor)[dim] != 1;
    }
    if (!isKnown)
      found.dims.clear();
    else if (kept.size() == factors.size() &&
             areAll(FactorKind::Parallel, FactorKind::Reduce,
                    FactorKind::Gather))
      found.kind = Difference::Parts;
    else if (kept.empty() && areAll(FactorKind::Reduce) && rule.isSum())
      found = {Difference::Terms, {}, op};
    differences[result].insert({axis, std::move(found)});
  }
}

LogicalResult RankAnalysis::compute(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  llvm::SmallBitVector repeated(mesh.numAxes(), repeats(*rule));
  for (Value operand : op->getOperands())
    repeated |= uniform.lookup(operand);
  for (Value result : op->getResults())
    uniform[result] = repeated;
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

/// Says how the operand differs along `axis`, and where it is as it is wanted.
LogicalResult RankAnalysis::refuse(Operation *op, unsigned axis,
                                   const Agreement &wanted) {
  const Difference *own = of(op->getOperand(0), axis);
  InFlightDiagnostic diag = op->emitOpError();
  diag << "takes what " << (own ? "differs" : "is the same") << " along axis \""
       << mesh[axis].name << "\"";
  if (own)
    diag << " as " << describe(*own);
  diag << ", expected "
       << (wanted ? describe(*wanted) : "what is the same on ranks");
  for (auto &[other, there] : differences[op->getOperand(0)])
    if (wanted && there.kind != Difference::Other && isPerhaps(there, wanted)) {
      diag << ", as along axis \"" << mesh[other].name << "\"";
      break;
    }
  if (own)
    diag.attachNote(own->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// Along `axes` ranks have what is `wanted`, and then what is `made`.
LogicalResult RankAnalysis::exchange(Operation *op, ArrayAttr axes,
                                     const Agreement &wanted,
                                     const Agreement &made) {
  Value operand = op->getNumOperands() != 0 ? op->getOperand(0) : Value();
  Differences found = differences.lookup(operand);
  llvm::SmallBitVector repeated(mesh.numAxes());
  repeated |= uniform.lookup(operand);
  for (unsigned axis : axesOf(axes, mesh)) {
    const Difference *own = of(operand, axis);
    bool isWanted =
        own ? isPerhaps(*own, wanted) : !wanted || isUniform(operand, axis);
    if (!isWanted)
      return refuse(op, axis, wanted);
    found.erase(axis);
    repeated.reset(axis);
    if (made)
      found.insert({axis, {made->kind, made->dims, own ? own->begin : op}});
  }
  differences[op->getResult(0)] = std::move(found);
  uniform[op->getResult(0)] = std::move(repeated);
  return success();
}

/// Whether ranks add up terms, in the order and with the roundings of the mesh.
static bool sumsOverRanks(Operation *op) {
  auto sum = dyn_cast<AllReduceOp>(op);
  bool isSum = sum ? sum.getKind() == ReduceKind::sum
                   : isa<ReduceScatterOp>(op) &&
                         cast<ReduceScatterOp>(op).getKind() == ReduceKind::sum;
  return isSum && isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
}

LogicalResult RankAnalysis::visit(Operation *op) {
  if (!isa<DistDialect>(op->getDialect()))
    return compute(op);
  if (isExact(func) && sumsOverRanks(op))
    return op->emitOpError("sums over ranks, expected none in an exact module");
  const Agreement same;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AllReduceOp op) {
        return exchange(op, op.getAxes(), combinedBy(op.getKind()), same);
      })
      .Case([&](AllGatherOp op) {
        return exchange(op, op.getAxes(), partsOf(op.getDim()), same);
      })
      .Case([&](ReduceScatterOp op) {
        return exchange(op, op.getAxes(), combinedBy(op.getKind()),
                        partsOf(op.getDim()));
      })
      .Case([&](AllToAllOp op) {
        return exchange(op, op.getAxes(), partsOf(op.getFrom()),
                        partsOf(op.getTo()));
      })
      .Case([&](ShardOp op) {
        return exchange(op, op.getAxes(), same, partsOf(op.getDim()));
      })
      .Case([&](CoordinateOp op) {
        return exchange(op, op.getAxes(), same,
                        Difference{Difference::Other, {}, nullptr});
      })
      .Default([&](Operation *op) { // as it was: waits and shifts
        return exchange(op, ArrayAttr::get(op->getContext(), {}), same, same);
      });
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
    if (isWanted && isPerhaps(own, wanted->second))
      continue;
    InFlightDiagnostic diag = func.emitError()
                              << "result " << index
                              << " differs between ranks along axis \""
                              << mesh[axis].name;
    if (isWanted)
      diag << "\" as " << describe(own) << ", expected "
           << describe(wanted->second);
    else
      diag << "\", which does not divide it: expected a sum or a gather over "
              "that axis";
    diag.attachNote(own.begin->getLoc()) << "ranks begin to differ here";
    return diag;
  }
  for (auto &[axis, wanted] : allowed)
    if (wanted.kind == Difference::Terms && !of(value, axis) &&
        !isUniform(value, axis))
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
