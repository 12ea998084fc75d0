//===- RankRules.cpp - What ranks hold behind an op -----------------------===//
//
// Parts and terms follow the factors of an op, and the operands in which it is
// linear. The others are here, a rule each: what ranks make of where they
// stand, reshapes, norms, and the log-sum-exps of a divided loss.
//
//===----------------------------------------------------------------------===//

#include "RankRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Factors = llvm::SmallDenseSet<int>;

//===----------------------------------------------------------------------===//
// Elements that repeat, and terms that are the same
//===----------------------------------------------------------------------===//

/// Whether all elements along a factor are one in each operand that has it.
static bool isRepeated(const RankOp &op, int factor) {
  bool isRead = false;
  for (auto [tensor, held] : llvm::enumerate(op.operands))
    for (auto [dim, own] : llvm::enumerate(op.rule.factorsOf(tensor)))
      if (llvm::is_contained(own, factor)) {
        isRead = true;
        if (!held.isRepeated(dim))
          return false;
      }
  return isRead || isa<BroadcastOp>(op.op);
}

static bool isZero(Operation *op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  return constant && splatOf(constant.getValue()) == 0.0;
}

/// Whether a part of one element of a dimension along which elements repeat may
/// lie in any dimension of what has another shape.
static bool hidesRepeated(const RankOp &op) {
  for (auto [dim, size] : llvm::enumerate(op.rule.shapeOf(0)))
    if (size == 1 && op.operands[0].isRepeated(dim))
      return true;
  return op.operands[0].repeated.all();
}

llvm::SmallBitVector dist::repeatedDims(const RankOp &op, unsigned result) {
  unsigned tensor = op.rule.numOperands() + result;
  llvm::SmallBitVector dims(op.rule.shapeOf(tensor).size());
  if (auto constant = dyn_cast<ConstantOp>(op.op))
    return splatOf(constant.getValue()) ? ~dims : dims;
  if (auto iota = dyn_cast<IotaOp>(op.op))
    return (~dims).reset(iota.getDim());
  if (isa<ReshapeOp>(op.op) && hidesRepeated(op))
    return ~dims;
  auto random = dyn_cast<RandomOpInterface>(op.op);
  if (isa<PadOp>(op.op) || (random && random.getRandomKey()))
    return dims;
  for (auto [dim, own] : llvm::enumerate(op.rule.factorsOf(tensor)))
    if (!own.empty() && llvm::all_of(own, [&](int factor) {
          return op.rule.factors()[factor].kind == FactorKind::Parallel &&
                 isRepeated(op, factor);
        }))
      dims.set(dim);
  return dims;
}

llvm::SmallBitVector dist::termAxes(const RankOp &op, const Mesh &mesh) {
  llvm::SmallBitVector axes(mesh.numAxes());
  if (isZero(op.op))
    return ~axes;
  for (auto [index, factor] : llvm::enumerate(op.rule.factors()))
    if (factor.kind == FactorKind::Reduce && isRepeated(op, index))
      return ~axes;
  for (ArrayRef<unsigned> set :
       cast<HoneOpInterface>(op.op).getLinearOperands()) {
    llvm::SmallBitVector all = ~axes;
    for (unsigned index : set)
      for (unsigned axis = 0; axis != mesh.numAxes(); ++axis)
        if (!op.operands[index].areTerms(axis))
          all.reset(axis);
    axes |= all;
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Differences along an axis
//===----------------------------------------------------------------------===//

namespace {
class AxisRules {
public:
  AxisRules(const RankOp &op, unsigned axis) : op(op), axis(axis) {
    for (const Held &held : op.operands) {
      own.push_back(held.along(axis));
      if (own.back() && !begin)
        begin = own.back()->begin;
    }
  }

  FailureOr<SmallVector<Difference>> run();

private:
  bool is(unsigned operand, Difference::Kind kind) const {
    return own[operand] && own[operand]->kind == kind;
  }
  bool hasAny(Difference::Kind kind) const {
    return llvm::any_of(own, [&](const Difference *there) {
      return there && there->kind == kind;
    });
  }
  bool hasOnly(Difference::Kind kind) const {
    return llvm::all_of(own, [&](const Difference *there) {
      return !there || there->kind == kind;
    });
  }
  SmallVector<Difference> all(Difference made) const {
    return SmallVector<Difference>(op.op->getNumResults(), made);
  }
  SmallVector<Difference> all(Difference::Kind kind) const {
    return all({kind, {}, begin});
  }

  std::optional<Difference> ofOwnRows() const;
  FailureOr<SmallVector<Difference>> ofTerms() const;
  Difference::Kind ofRoots() const;
  Difference::Kind ofLogarithms() const;
  Difference ofReshape(ReshapeOp reshape) const;
  Factors dividedFactors() const;
  Difference ofParts(unsigned result, const Factors &factors) const;
  SmallVector<Difference> ofParts() const;

  const RankOp &op;
  unsigned axis;
  SmallVector<const Difference *>
      own; ///< of each operand; null where it agrees
  Operation *begin = nullptr;
};
} // namespace

/// What a rank keeps where something is its own, and zeros elsewhere, are
/// terms: each element is one rank's. So are rows for which a table has a
/// gradient, of which each rank gets the part with its rows.
std::optional<Difference> AxisRules::ofOwnRows() const {
  if (auto select = dyn_cast<SelectOp>(op.op)) {
    if (!is(0, Difference::Own) || own[2] ||
        !isZero(select.getOnFalse().getDefiningOp()))
      return std::nullopt;
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(select.getType()));
    bool areTerms = own[1] ? is(1, Difference::Own) && isFloat
                           : !op.operands[1].repeated.all();
    if (areTerms)
      return Difference{Difference::Terms, {}, op.op};
  }
  if (isa<EmbeddingBwdOp>(op.op) && is(0, Difference::Terms) &&
      is(1, Difference::Own))
    return Difference{Difference::Parts, {0}, begin};
  return std::nullopt;
}

/// Terms give terms where the op is linear in all of them together. Rounding
/// each of them to a narrower type is the partitioner's to decide.
FailureOr<SmallVector<Difference>> AxisRules::ofTerms() const {
  const Difference *terms = *llvm::find_if(own, [](const Difference *there) {
    return there && there->kind == Difference::Terms;
  });
  OperandSets sets = cast<HoneOpInterface>(op.op).getLinearOperands();
  if (isa<CastOp>(op.op))
    sets = {{0}};
  bool isMoved =
      isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp>(op.op);
  if (terms->combiner != ReduceKind::sum && !isMoved)
    return failure();
  for (ArrayRef<unsigned> set : sets) {
    bool areAll =
        llvm::all_of(llvm::seq<unsigned>(0, own.size()), [&](unsigned index) {
          return llvm::is_contained(set, index)
                     ? isPerhaps(op.operands[index], axis,
                                 combinedBy(terms->combiner))
                     : !own[index];
        });
    if (areAll)
      return all(*terms);
  }
  return failure();
}

/// The square of a norm is a term of the sum of squares.
Difference::Kind AxisRules::ofRoots() const {
  bool isSquare =
      isa<MulOp>(op.op) && op.op->getOperand(0) == op.op->getOperand(1);
  return isSquare ? Difference::Terms : Difference::Other;
}

/// e^(lse - m), for any m of all ranks, is a term of the sum of exponentials.
/// What is left of an lse of all ranks is for the rank that has the target.
Difference::Kind AxisRules::ofLogarithms() const {
  return llvm::TypeSwitch<Operation *, Difference::Kind>(op.op)
      .Case<CastOp, BroadcastOp, ReshapeOp>(
          [](auto) { return Difference::Logarithms; })
      .Case([](ExpOp) { return Difference::Terms; })
      .Case([&](SubOp) {
        if (own[0] && own[1])
          return Difference::Other;
        return own[0] ? Difference::Logarithms : Difference::Own;
      })
      .Default([](Operation *) { return Difference::Other; });
}

/// Where each dimension begins and ends, in elements of a run of all.
static SmallVector<std::pair<int64_t, int64_t>>
runsOf(ArrayRef<int64_t> shape) {
  SmallVector<std::pair<int64_t, int64_t>> runs;
  int64_t before = 1;
  for (int64_t size : shape) {
    runs.push_back({before, before * size});
    before *= size;
  }
  return runs;
}

/// The dimensions that have something of the one that was divided, and those
/// beside it: parts of one element of a factor may have gone there.
Difference AxisRules::ofReshape(ReshapeOp) const {
  auto from = runsOf(op.rule.shapeOf(0)), to = runsOf(op.rule.shapeOf(1));
  Difference made = {Difference::Parts, {}, begin};
  for (unsigned dim : own[0]->dims)
    for (auto [index, run] : llvm::enumerate(to)) {
      auto [first, last] = from[dim];
      if (run.first <= last && first <= run.second)
        made.dims.insert(index);
    }
  return made;
}

/// The factors of which one, whichever it is, the operands that differ are
/// parts of; none where they are no such parts. Operands that agree repeat one
/// element along it, and it is one that ranks can share; with positions of a
/// rank's own, the one that these count.
Factors AxisRules::dividedFactors() const {
  std::optional<Factors> factors;
  for (unsigned tensor = 0; tensor != own.size(); ++tensor) {
    // One element of a mask is for all, or a part.
    bool isHidden =
        own[tensor] && llvm::any_of(own[tensor]->dims, [&](unsigned dim) {
          return op.rule.factorsOf(tensor)[dim].empty() &&
                 op.rule.shapeOf(tensor)[dim] == 1;
        });
    if (isHidden || !is(tensor, Difference::Parts))
      continue;
    Factors perhaps;
    for (unsigned dim : own[tensor]->dims)
      for (int factor : op.rule.factorsOf(tensor)[dim])
        if (!factors || factors->contains(factor))
          perhaps.insert(factor);
    factors = std::move(perhaps);
  }
  if (!factors)
    return {};
  for (unsigned tensor = 0; tensor != own.size(); ++tensor)
    for (auto [dim, there] : llvm::enumerate(op.rule.factorsOf(tensor)))
      if (!own[tensor] && !op.operands[tensor].isRepeated(dim))
        for (int factor : there)
          factors->erase(factor);
  auto kindOf = [&](int factor) { return op.rule.factors()[factor].kind; };
  auto isIndexed = [&](int factor) {
    return kindOf(factor) == FactorKind::Gather ||
           kindOf(factor) == FactorKind::Exchange;
  };
  bool takesOwn = hasAny(Difference::Own) && llvm::any_of(*factors, isIndexed);
  Factors perhaps;
  for (int factor : *factors)
    if (takesOwn ? isIndexed(factor) : kindOf(factor) != FactorKind::Replicate)
      perhaps.insert(factor);
  return perhaps;
}

/// Parts of an independent factor give parts of a result that has it, and terms
/// of one that combines what is along it; where a reshape left both possible,
/// perhaps either.
Difference AxisRules::ofParts(unsigned result, const Factors &factors) const {
  auto areAll = [&](auto... kinds) {
    return !factors.empty() && llvm::all_of(factors, [&](int factor) {
      return ((op.rule.factors()[factor].kind == kinds) || ...);
    });
  };
  Difference made = {Difference::Other, {}, begin};
  Factors kept;
  for (auto [dim, there] :
       llvm::enumerate(op.rule.factorsOf(op.rule.numOperands() + result)))
    for (int factor : there)
      if (factors.contains(factor)) {
        made.dims.insert(dim);
        kept.insert(factor);
      }
  if (!kept.empty() &&
      areAll(FactorKind::Parallel, FactorKind::Reduce, FactorKind::Gather))
    made.kind =
        kept.size() == factors.size() ? Difference::Parts : Difference::Own;
  else if (kept.empty() && areAll(FactorKind::Reduce))
    made = {Difference::Terms, {}, op.op, op.rule.combiner()};
  else if (isa<EmbeddingOp>(op.op) && areAll(FactorKind::Gather) &&
           is(1, Difference::Own))
    made.kind = Difference::Own;
  else if (auto loss = dyn_cast<CrossEntropyOp>(op.op);
           loss && areAll(FactorKind::Exchange) && is(1, Difference::Own) &&
           loss.getReduction() == LossReduction::none)
    made.kind = result == 0 ? Difference::Own : Difference::Logarithms;
  return made;
}

SmallVector<Difference> AxisRules::ofParts() const {
  Factors factors = dividedFactors();
  SmallVector<Difference> made;
  for (unsigned result = 0; result != op.op->getNumResults(); ++result)
    made.push_back(ofParts(result, factors));
  return made;
}

FailureOr<SmallVector<Difference>> AxisRules::run() {
  if (std::optional<Difference> made = ofOwnRows())
    return all(*made);
  if (hasAny(Difference::Terms))
    return ofTerms();
  if (hasAny(Difference::Other))
    return all(Difference::Other);
  if (isa<GlobalNormOp>(op.op)) {
    bool areParts = llvm::all_of(own, [](const Difference *there) {
      return there && (there->kind == Difference::Parts ||
                       there->kind == Difference::Own);
    });
    return all(areParts ? Difference::Roots : Difference::Other);
  }
  if (hasAny(Difference::Roots))
    return all(ofRoots());
  if (hasAny(Difference::Logarithms))
    return all(hasOnly(Difference::Logarithms) ? ofLogarithms()
                                               : Difference::Other);
  if (hasOnly(Difference::Own)) {
    auto reduce = dyn_cast<ReduceOp>(op.op);
    return all({Difference::Own,
                {},
                begin,
                reduce ? reduce.getKind() : ReduceKind::sum});
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op.op))
    return all(ofReshape(reshape));
  return ofParts();
}

FailureOr<SmallVector<Difference>> dist::differencesOf(const RankOp &op,
                                                       unsigned axis) {
  return AxisRules(op, axis).run();
}
