//===- VerifyRanks.cpp - Whether ranks agree where they must --------------===//

#include "RankDifferences.h"
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
class RankAnalysis {
public:
  RankAnalysis(func::FuncOp func, const Mesh &mesh) : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult compute(Operation *op);
  LogicalResult exchange(Operation *op, ArrayAttr axes, const Agreement &wanted,
                         const Agreement &made);
  LogicalResult exchangeHeld(Operation *op, ArrayAttr axes,
                             const Agreement &wanted, const Agreement &made,
                             Held &own);
  LogicalResult refuse(Operation *op, unsigned axis, const Agreement &wanted,
                       const Held &own);
  void join(ConcatOp op);
  bool takePiece(SliceOp op);
  LogicalResult takeTerms(Operation *op, unsigned axis,
                          const Difference &terms);
  llvm::SmallDenseSet<int>
  dividedFactors(Operation *op, const ShardingRule &rule, unsigned axis) const;
  void takeParts(Operation *op, const ShardingRule &rule, unsigned axis,
                 Operation *begin);
  LogicalResult checkResult(unsigned index, Value value);
  const Difference *of(Value value, unsigned axis) const {
    auto found = held.find(value);
    return found == held.end() ? nullptr : found->second.along(axis);
  }
  bool isUniform(Value value, unsigned axis) const {
    auto found = held.find(value);
    return found != held.end() && found->second.isUniform(axis);
  }

  func::FuncOp func;
  const Mesh &mesh;
  llvm::DenseMap<Value, Held> held;
  /// Of concatenations, and of what ranks exchange of them.
  llvm::DenseMap<Value, Pieces> pieces;
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
      held[result].differences.insert({axis, found});
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
    held[result].differences.insert({axis, std::move(found)});
  }
}

LogicalResult RankAnalysis::compute(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  llvm::SmallBitVector repeated(mesh.numAxes(), repeats(*rule));
  for (Value operand : op->getOperands())
    repeated |= held.lookup(operand).uniform;
  for (Value result : op->getResults())
    held[result].uniform = repeated;
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
                                   const Agreement &wanted, const Held &own) {
  const Difference *found = own.along(axis);
  InFlightDiagnostic diag = op->emitOpError();
  diag << "takes what " << (found ? "differs" : "is the same")
       << " along axis \"" << mesh[axis].name << "\"";
  if (found)
    diag << " as " << describe(*found);
  diag << ", expected "
       << (wanted ? describe(*wanted) : "what is the same on ranks");
  for (auto &[other, there] : own.differences)
    if (wanted && there.kind != Difference::Other && isPerhaps(there, wanted)) {
      diag << ", as along axis \"" << mesh[other].name << "\"";
      break;
    }
  if (found)
    diag.attachNote(found->begin->getLoc()) << "ranks begin to differ here";
  return diag;
}

/// `own` is what ranks hold along `axes` as `wanted`, and becomes what they
/// hold then: what is `made`.
LogicalResult RankAnalysis::exchangeHeld(Operation *op, ArrayAttr axes,
                                         const Agreement &wanted,
                                         const Agreement &made, Held &own) {
  own.uniform.resize(mesh.numAxes());
  for (unsigned axis : axesOf(axes, mesh)) {
    const Difference *found = own.along(axis);
    bool isWanted =
        found ? isPerhaps(*found, wanted) : !wanted || own.isUniform(axis);
    if (!isWanted)
      return refuse(op, axis, wanted, own);
    Operation *begin = found ? found->begin : op;
    own.differences.erase(axis);
    own.uniform.reset(axis);
    if (made)
      own.differences.insert({axis, {made->kind, made->dims, begin}});
  }
  return success();
}

/// Whether a collective keeps elements where they are along a dimension.
static bool keepsPlaces(Operation *op, unsigned dim) {
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return gather.getDim() != dim;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getDim() != dim;
  return isa<AllReduceOp, WaitOp>(op);
}

/// Along `axes` ranks have what is `wanted`, and then what is `made`: each
/// piece of what was joined.
LogicalResult RankAnalysis::exchange(Operation *op, ArrayAttr axes,
                                     const Agreement &wanted,
                                     const Agreement &made) {
  Value operand = op->getNumOperands() != 0 ? op->getOperand(0) : Value();
  Held own = held.lookup(operand);
  auto joined = pieces.find(operand);
  if (joined == pieces.end() || !keepsPlaces(op, joined->second.dim)) {
    if (failed(exchangeHeld(op, axes, wanted, made, own)))
      return failure();
    held[op->getResult(0)] = std::move(own);
    return success();
  }
  Pieces exchanged = joined->second;
  for (Pieces::Piece &piece : exchanged.all)
    if (failed(exchangeHeld(op, axes, wanted, made, piece.held)))
      return failure();
  // Of the whole no more is known than that pieces differ, and how.
  for (unsigned axis : axesOf(axes, mesh))
    own.differences[axis] = {Difference::Other, {}, op};
  held[op->getResult(0)] = std::move(own);
  pieces[op->getResult(0)] = std::move(exchanged);
  return success();
}

void RankAnalysis::join(ConcatOp op) {
  Pieces joined = {unsigned(op.getDim()), {}};
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    int64_t end =
        begin + cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
    joined.all.push_back({begin, end, held.lookup(input)});
    begin = end;
  }
  pieces[op.getResult()] = std::move(joined);
}

/// A slice that is one of the pieces.
bool RankAnalysis::takePiece(SliceOp op) {
  auto joined = pieces.find(op.getOperand());
  if (joined == pieces.end())
    return false;
  auto whole = cast<RankedTensorType>(op.getOperand().getType()).getShape();
  unsigned along = joined->second.dim;
  for (unsigned dim = 0; dim != whole.size(); ++dim)
    if (op.getStrides()[dim] != 1 ||
        (dim != along &&
         (op.getStarts()[dim] != 0 || op.getLimits()[dim] != whole[dim])))
      return false;
  for (const Pieces::Piece &piece : joined->second.all)
    if (piece.begin == op.getStarts()[along] &&
        piece.end == op.getLimits()[along]) {
      Held own = piece.held;
      held[op.getResult()] = std::move(own);
      return true;
    }
  return false;
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
  if (auto slice = dyn_cast<SliceOp>(op); slice && takePiece(slice))
    return success();
  if (auto concat = dyn_cast<ConcatOp>(op))
    join(concat);
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
      func.getResultAttrOfType<ShardingAttr>(index, shardingAttr), mesh, func);
  for (auto &[axis, own] : held[value].differences) {
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
    held[arg].differences = differencesOf(
        func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(), shardingAttr),
        mesh, func);
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
