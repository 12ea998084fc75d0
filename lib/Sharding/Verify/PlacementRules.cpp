//===- PlacementRules.cpp - How ranks hold the results of an op -----------===//
//
// Shards follow the factors of an op, partial sums the operands in which it is
// linear. The other placements have a rule each: values computed from a rank's
// position, reshapes, norms, and the log-sum-exps of a sharded loss.
//
//===----------------------------------------------------------------------===//

#include "PlacementRules.h"

#include "hone/IR/QueryPositions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Factors = llvm::SmallDenseSet<int>;

//===----------------------------------------------------------------------===//
// Equal elements, and replicas that are partial too
//===----------------------------------------------------------------------===//

/// Whether all elements along a factor are equal in each operand that has it.
static bool isRepeated(const PlacedOp &op, int factor) {
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

/// Whether a shard of one element, of a dimension along which elements are
/// equal, may lie in any dimension after a reshape.
static bool hidesRepeated(const PlacedOp &op) {
  for (auto [dim, size] : llvm::enumerate(op.rule.shapeOf(0)))
    if (size == 1 && op.operands[0].isRepeated(dim))
      return true;
  return op.operands[0].repeated.all();
}

/// Adds dimensions of one element beside one along which elements are equal: a
/// reshape may have split them off from it, and a rank holds one element.
static void addSplitOff(llvm::SmallBitVector &repeated,
                        ArrayRef<int64_t> shape) {
  for (bool isForward : {true, false})
    for (unsigned i = 1; i < shape.size(); ++i) {
      unsigned dim = isForward ? i : shape.size() - 1 - i;
      unsigned before = isForward ? i - 1 : dim + 1;
      if (shape[dim] == 1 && repeated.test(before))
        repeated.set(dim);
    }
}

/// Whether zeros stand along `dim` of the result.
static bool pads(PadOp op, unsigned dim) {
  return op.getLow()[dim] != 0 || op.getHigh()[dim] != 0 ||
         op.getInterior()[dim] != 0;
}

llvm::SmallBitVector dist::repeatedDims(const PlacedOp &op, unsigned result) {
  unsigned tensor = op.rule.numOperands() + result;
  llvm::SmallBitVector dims(op.rule.shapeOf(tensor).size());
  if (auto constant = dyn_cast<ConstantOp>(op.op))
    return splatOf(constant.getValue()) ? ~dims : dims;
  if (auto iota = dyn_cast<IotaOp>(op.op))
    return (~dims).reset(iota.getDim());
  if (isa<ReshapeOp>(op.op) && hidesRepeated(op))
    return ~dims;
  auto random = dyn_cast<RandomOpInterface>(op.op);
  if (random && random.getRandomKey())
    return dims;
  auto pad = dyn_cast<PadOp>(op.op);
  for (auto [dim, own] : llvm::enumerate(op.rule.factorsOf(tensor)))
    if (!own.empty() && !(pad && pads(pad, dim)) &&
        llvm::all_of(own, [&](int factor) {
          return op.rule.factors()[factor].kind == FactorKind::Parallel &&
                 isRepeated(op, factor);
        }))
      dims.set(dim);
  if (isa<ReshapeOp>(op.op))
    addSplitOff(dims, op.rule.shapeOf(tensor));
  return dims;
}

llvm::SmallBitVector dist::partialAxes(const PlacedOp &op, const Mesh &mesh) {
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
        if (!op.operands[index].mayBePartial(axis))
          all.reset(axis);
    axes |= all;
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Placements along an axis
//===----------------------------------------------------------------------===//

namespace {
class AxisRules {
public:
  AxisRules(const PlacedOp &op, unsigned axis) : op(op), axis(axis) {
    for (const ValuePlacement &held : op.operands) {
      own.push_back(held.along(axis));
      if (own.back() && !begin)
        begin = own.back()->begin;
    }
  }

  FailureOr<SmallVector<Placement>> run();

private:
  bool is(unsigned operand, Placement::Kind kind) const {
    return own[operand] && own[operand]->kind == kind;
  }
  bool hasAny(Placement::Kind kind) const {
    return llvm::any_of(own, [&](const Placement *there) {
      return there && there->kind == kind;
    });
  }
  bool hasOnly(Placement::Kind kind) const {
    return llvm::all_of(own, [&](const Placement *there) {
      return !there || there->kind == kind;
    });
  }
  SmallVector<Placement> all(Placement made) const {
    return SmallVector<Placement>(op.op->getNumResults(), made);
  }
  SmallVector<Placement> all(Placement::Kind kind) const {
    return all({kind, {}, begin});
  }

  std::optional<Placement> ofOwnRows() const;
  FailureOr<SmallVector<Placement>> ofPartial() const;
  Placement::Kind ofNorms() const;
  Placement::Kind ofLogSumExps() const;
  Placement ofReshape(ReshapeOp reshape) const;
  bool sharesCopies(int factor) const;
  Factors dividedFactors() const;
  Factors dividedByPositions(Factors factors) const;
  Factors shardedFactors(unsigned tensor) const;
  Placement ofShards(unsigned result, const Factors &factors) const;
  SmallVector<Placement> ofShards() const;

  const PlacedOp &op;
  unsigned axis;
  SmallVector<const Placement *> own; ///< of each operand; null for replicas
  Operation *begin = nullptr;
};
} // namespace

/// Values that a rank keeps where a mask of its own selects them, with zeros
/// elsewhere, are partial sums: one rank has each element. The gradient of a
/// table from a rank's own rows is the shard with these rows.
std::optional<Placement> AxisRules::ofOwnRows() const {
  if (auto select = dyn_cast<SelectOp>(op.op)) {
    if (!is(0, Placement::RankLocal) || own[2] ||
        !isZero(select.getOnFalse().getDefiningOp()))
      return std::nullopt;
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(select.getType()));
    bool isPartial = own[1] ? is(1, Placement::RankLocal) && isFloat
                            : !op.operands[1].repeated.all();
    if (isPartial)
      return Placement{Placement::Partial, {}, op.op};
  }
  if (isa<EmbeddingBwdOp>(op.op) && is(0, Placement::Partial) &&
      is(1, Placement::RankLocal))
    return Placement{Placement::Sharded, {0}, begin};
  return std::nullopt;
}

/// Partial sums give partial sums where the op is linear in all of them
/// together. The partitioner decides whether to round each to a narrower type.
FailureOr<SmallVector<Placement>> AxisRules::ofPartial() const {
  const Placement *partial = *llvm::find_if(own, [](const Placement *there) {
    return there && there->kind == Placement::Partial;
  });
  OperandSets sets = cast<HoneOpInterface>(op.op).getLinearOperands();
  if (isa<CastOp>(op.op))
    sets = {{0}};
  bool isMoved =
      isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp>(op.op);
  if (partial->combiner != ReduceKind::sum && !isMoved)
    return failure();
  for (ArrayRef<unsigned> set : sets) {
    bool areAll =
        llvm::all_of(llvm::seq<unsigned>(0, own.size()), [&](unsigned index) {
          return llvm::is_contained(set, index)
                     ? mayBe(op.operands[index], axis,
                             partialBy(partial->combiner))
                     : !own[index];
        });
    if (areAll)
      return all(*partial);
  }
  return failure();
}

/// The square of a shard's norm is a partial sum of squares.
Placement::Kind AxisRules::ofNorms() const {
  bool isSquare =
      isa<MulOp>(op.op) && op.op->getOperand(0) == op.op->getOperand(1);
  return isSquare ? Placement::Partial : Placement::Unknown;
}

/// e^(lse - m), for a replicated m, is a partial sum of exponentials. A
/// replicated lse less a shard's is rank-local.
Placement::Kind AxisRules::ofLogSumExps() const {
  return llvm::TypeSwitch<Operation *, Placement::Kind>(op.op)
      .Case<CastOp, BroadcastOp, ReshapeOp>(
          [](auto) { return Placement::PartialLogSumExp; })
      .Case([](ExpOp) { return Placement::Partial; })
      .Case([&](SubOp) {
        if (own[0] && own[1])
          return Placement::Unknown;
        return own[0] ? Placement::PartialLogSumExp : Placement::RankLocal;
      })
      .Default([](Operation *) { return Placement::Unknown; });
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

/// The dimensions that have elements of the sharded one, and those beside it:
/// shards of one element of a factor may have gone there.
Placement AxisRules::ofReshape(ReshapeOp) const {
  auto from = runsOf(op.rule.shapeOf(0)), to = runsOf(op.rule.shapeOf(1));
  Placement made = {Placement::Sharded, {}, begin};
  for (unsigned dim : own[0]->dims)
    for (auto [index, run] : llvm::enumerate(to)) {
      auto [first, last] = from[dim];
      if (run.first <= last && first <= run.second)
        made.dims.insert(index);
    }
  return made;
}

/// The factors of the dimensions that a sharded operand may be cut along.
Factors AxisRules::shardedFactors(unsigned tensor) const {
  Factors factors;
  for (unsigned dim : own[tensor]->dims)
    for (int factor : op.rule.factorsOf(tensor)[dim])
      factors.insert(factor);
  return factors;
}

/// Whether each element that iterations along `factor` share is the only one of
/// a rank, and of its peers along the axis.
bool AxisRules::sharesCopies(int factor) const {
  bool isShared = false;
  for (unsigned tensor = 0; tensor != own.size(); ++tensor)
    for (auto [dim, there] : llvm::enumerate(op.rule.factorsOf(tensor))) {
      if (!there.isShared() || there[0] != factor)
        continue;
      if (own[tensor] || op.rule.shapeOf(tensor)[dim] != 1)
        return false;
      isShared = true;
    }
  return isShared;
}

/// The factors that the operands may be sharded along; none where they have no
/// common one. Replicated operands must have equal elements along it. It is one
/// that ranks can share; where an operand is rank-local, one that its positions
/// index.
Factors AxisRules::dividedFactors() const {
  std::optional<Factors> factors;
  SmallVector<unsigned> undecided;
  for (unsigned tensor = 0; tensor != own.size(); ++tensor) {
    if (!is(tensor, Placement::Sharded))
      continue;
    // One element of a mask is for all, or a shard.
    if (llvm::any_of(own[tensor]->dims, [&](unsigned dim) {
          return op.rule.factorsOf(tensor)[dim].empty() &&
                 op.rule.shapeOf(tensor)[dim] == 1;
        })) {
      undecided.push_back(tensor);
      continue;
    }
    Factors perhaps;
    for (int factor : shardedFactors(tensor))
      if (!factors || factors->contains(factor))
        perhaps.insert(factor);
    factors = std::move(perhaps);
  }
  // Where nothing else decides, it is a shard along any dimension that a
  // reshape left possible.
  if (!factors)
    for (unsigned tensor : undecided)
      for (int factor : shardedFactors(tensor)) {
        if (!factors)
          factors.emplace();
        factors->insert(factor);
      }
  if (!factors)
    return {};
  for (unsigned tensor = 0; tensor != own.size(); ++tensor)
    for (auto [dim, there] : llvm::enumerate(op.rule.factorsOf(tensor)))
      if (!own[tensor] && !op.operands[tensor].isRepeated(dim))
        for (int factor : there)
          if (!there.isShared() || !sharesCopies(factor))
            factors->erase(factor);
  auto kindOf = [&](int factor) { return op.rule.factors()[factor].kind; };
  auto isIndexed = [&](int factor) {
    return kindOf(factor) == FactorKind::Gather ||
           kindOf(factor) == FactorKind::Reconcilable;
  };
  bool takesOwn =
      hasAny(Placement::RankLocal) && llvm::any_of(*factors, isIndexed);
  Factors perhaps;
  for (int factor : *factors)
    if (takesOwn ? isIndexed(factor) : kindOf(factor) != FactorKind::Replicate)
      perhaps.insert(factor);
  return perhaps;
}

/// Shards of an independent factor give shards of a result that has it, and
/// partial sums of one that reduces it, or shares its elements among ranks;
/// where a reshape left both possible, perhaps either.
Placement AxisRules::ofShards(unsigned result, const Factors &factors) const {
  auto areAll = [&](auto... kinds) {
    return !factors.empty() && llvm::all_of(factors, [&](int factor) {
      return ((op.rule.factors()[factor].kind == kinds) || ...);
    });
  };
  Placement made = {Placement::Unknown, {}, begin};
  Factors kept, shared;
  for (auto [dim, there] :
       llvm::enumerate(op.rule.factorsOf(op.rule.numOperands() + result)))
    for (int factor : there)
      if (factors.contains(factor)) {
        if (there.isShared() && sharesCopies(factor)) {
          shared.insert(factor);
          continue;
        }
        made.dims.insert(dim);
        kept.insert(factor);
      }
  if (!shared.empty()) { // whichever factor it is, ranks have terms of a sum
    bool areTerms = llvm::all_of(factors, [&](int factor) {
      return shared.contains(factor) ||
             (!kept.contains(factor) &&
              op.rule.factors()[factor].kind == FactorKind::Reduce);
    });
    return areTerms ? Placement{Placement::Partial, {}, op.op}
                    : Placement{Placement::Unknown, {}, begin};
  }
  if (!kept.empty() &&
      areAll(FactorKind::Parallel, FactorKind::Reduce, FactorKind::Gather))
    made.kind = kept.size() == factors.size() ? Placement::Sharded
                                              : Placement::RankLocal;
  else if (kept.empty() && areAll(FactorKind::Reduce))
    made = {Placement::Partial, {}, op.op, op.rule.combiner()};
  else if (isa<EmbeddingOp>(op.op) && areAll(FactorKind::Gather) &&
           is(1, Placement::RankLocal))
    made.kind = Placement::RankLocal;
  else if (auto loss = dyn_cast<CrossEntropyOp>(op.op);
           loss && areAll(FactorKind::Reconcilable) &&
           is(1, Placement::RankLocal) &&
           loss.getReduction() == LossReduction::none)
    made.kind =
        result == 0 ? Placement::RankLocal : Placement::PartialLogSumExp;
  return made;
}

/// Of an attention that is told where its queries stand, the position of
/// queries is the divided factor exactly where ranks are told differently.
Factors AxisRules::dividedByPositions(Factors factors) const {
  auto first = llvm::TypeSwitch<Operation *, Value>(op.op)
                   .Case<AttentionOp, AttentionBwdOp>([](auto attention) {
                     return firstPositions(attention.getMasks());
                   })
                   .Default([](Operation *) { return Value(); });
  if (!first)
    return factors;
  unsigned query = isa<AttentionOp>(op.op) ? 0 : 1, position = 1;
  auto operands = op.op->getOperands();
  unsigned place = llvm::find(operands, first) - operands.begin();
  int positions = op.rule.factorsOf(query)[position][0];
  bool isOwn = is(place, Placement::RankLocal);
  Factors kept;
  for (int factor : factors)
    if ((factor == positions) == isOwn)
      kept.insert(factor);
  return kept;
}

SmallVector<Placement> AxisRules::ofShards() const {
  Factors factors = dividedByPositions(dividedFactors());
  SmallVector<Placement> made;
  for (unsigned result = 0; result != op.op->getNumResults(); ++result)
    made.push_back(ofShards(result, factors));
  return made;
}

FailureOr<SmallVector<Placement>> AxisRules::run() {
  if (std::optional<Placement> made = ofOwnRows())
    return all(*made);
  if (hasAny(Placement::Partial))
    return ofPartial();
  if (hasAny(Placement::Unknown))
    return all(Placement::Unknown);
  if (isa<GlobalNormOp>(op.op)) {
    bool areShards = llvm::all_of(own, [](const Placement *there) {
      return there && (there->kind == Placement::Sharded ||
                       there->kind == Placement::RankLocal);
    });
    return all(areShards ? Placement::PartialNorm : Placement::Unknown);
  }
  if (hasAny(Placement::PartialNorm))
    return all(ofNorms());
  if (hasAny(Placement::PartialLogSumExp))
    return all(hasOnly(Placement::PartialLogSumExp) ? ofLogSumExps()
                                                    : Placement::Unknown);
  if (hasOnly(Placement::RankLocal)) {
    auto reduce = dyn_cast<ReduceOp>(op.op);
    return all({Placement::RankLocal,
                {},
                begin,
                reduce ? reduce.getKind() : ReduceKind::sum});
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op.op))
    return all(ofReshape(reshape));
  return ofShards();
}

FailureOr<SmallVector<Placement>> dist::placementsOf(const PlacedOp &op,
                                                     unsigned axis) {
  return AxisRules(op, axis).run();
}
