//===- LocalOps.cpp - Ops as a rank runs them -----------------------------===//
//
// Most ops run unchanged on shards. The others are here, a rule each: ops whose
// attributes are positions, ops that read by index, ops that number their
// elements, and losses, whose ranks exchange row maxima and sums.
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"

#include "Sharding/Model/Slices.h"
#include "hone/IR/QueryPositions.h"
#include "hone/Sharding/IR/RingOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace hone;
using namespace hone::dist;

using Values = SmallVector<Value>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The type of a rank's shard of result `index`.
static RankedTensorType localTypeOf(const SplitOp &split, unsigned index) {
  unsigned tensor = split.rule.numOperands() + index;
  return localType(typeOf(split.op->getResult(index)),
                   *split.rule.shardingOf(tensor, split.factors, split.mesh),
                   split.mesh);
}

/// The op on shards, with results of the sizes of their shards.
static Operation *cloneLocal(ImplicitLocOpBuilder &b, const SplitOp &split,
                             ValueRange operands) {
  Operation *local = b.clone(*split.op);
  local->removeAttr(shardingsAttr);
  local->setOperands(operands);
  for (auto [index, result] : llvm::enumerate(local->getResults()))
    result.setType(localTypeOf(split, index));
  return local;
}

/// `positions` in the dimensions of a tensor, each a cut of it: where they lie
/// in a shard.
static SmallVector<int64_t> localPositions(const SplitOp &split,
                                           unsigned tensor,
                                           ArrayRef<int64_t> positions) {
  SmallVector<int64_t> local;
  for (auto [dim, position] : llvm::enumerate(positions))
    local.push_back(position / split.parts(tensor, dim));
  return local;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split, SliceOp op,
                   ValueRange operands) {
  auto local = cast<SliceOp>(cloneLocal(b, split, operands));
  local.setStarts(localPositions(split, 0, op.getStarts()));
  local.setLimits(localPositions(split, 0, op.getLimits()));
  return Values(local->getResults());
}

static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split, PadOp op,
                   ValueRange operands) {
  auto local = cast<PadOp>(cloneLocal(b, split, operands));
  local.setLow(localPositions(split, 1, op.getLow()));
  local.setHigh(localPositions(split, 1, op.getHigh()));
  return Values(local->getResults());
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Value dist::splat(ImplicitLocOpBuilder &b, RankedTensorType type,
                  double number) {
  Type element = type.getElementType();
  Attribute value = isa<FloatType>(element)
                        ? Attribute(b.getFloatAttr(element, number))
                        : b.getIntegerAttr(element, int64_t(number));
  return b.create<ConstantOp>(DenseElementsAttr::get(type, value));
}

Value dist::firstPosition(ImplicitLocOpBuilder &b, RankedTensorType type,
                          int64_t size, ArrayRef<unsigned> axes,
                          const Mesh &mesh) {
  auto scalar = RankedTensorType::get({}, b.getI64Type());
  Value part =
      b.create<CoordinateOp>(scalar, namesOf(axes, mesh, b.getContext()));
  Value first = b.create<MulOp>(part, splat(b, scalar, double(size)));
  if (!type.getElementType().isInteger(64))
    first = b.create<CastOp>(RankedTensorType::get({}, type.getElementType()),
                             first);
  if (type.getRank() == 0)
    return first;
  return b.create<BroadcastOp>(type, first, ArrayRef<int64_t>());
}

/// `base[r] + i * slope[r]` on rank number i along `axes`.
static Value linearInRank(ImplicitLocOpBuilder &b, ArrayRef<int64_t> base,
                          ArrayRef<int64_t> slope, ArrayRef<unsigned> axes,
                          const Mesh &mesh) {
  auto type = RankedTensorType::get({int64_t(base.size())}, b.getI64Type());
  auto constant = [&](ArrayRef<int64_t> numbers) {
    return b.create<ConstantOp>(DenseElementsAttr::get(type, numbers));
  };
  Value part = b.create<CoordinateOp>(type.clone(ArrayRef<int64_t>()),
                                      namesOf(axes, mesh, b.getContext()));
  Value everywhere = b.create<BroadcastOp>(type, part, ArrayRef<int64_t>());
  return b.create<AddOp>(b.create<MulOp>(everywhere, constant(slope)),
                         constant(base));
}

Value dist::runStarts(ImplicitLocOpBuilder &b, const DimShards &shards,
                      int64_t size, const Mesh &mesh) {
  SmallVector<int64_t> base, slope;
  for (auto [first, second] : llvm::zip_equal(runsOf(shards, size, mesh, 0),
                                              runsOf(shards, size, mesh, 1))) {
    base.push_back(first.begin);
    slope.push_back(second.begin - first.begin);
  }
  return linearInRank(b, base, slope, shards.axes, mesh);
}

LocalIds dist::findIds(ImplicitLocOpBuilder &b, Value ids, int64_t size,
                       ArrayRef<unsigned> axes, const Mesh &mesh) {
  RankedTensorType type = typeOf(ids);
  // A narrow type may lack the positions of the other ranks.
  if (!llvm::isIntN(type.getElementTypeBitWidth(), size * mesh.count(axes))) {
    type = type.clone(b.getI64Type());
    ids = b.create<CastOp>(type, ids);
  }
  Value shifted =
      b.create<SubOp>(ids, firstPosition(b, type, size, axes, mesh));
  auto flags = type.clone(b.getI1Type());
  Value zero = splat(b, type, 0);
  Value isOwn =
      b.create<AndOp>(b.create<CmpOp>(flags, CmpPredicate::ge, shifted, zero),
                      b.create<CmpOp>(flags, CmpPredicate::lt, shifted,
                                      splat(b, type, double(size))));
  return {b.create<SelectOp>(isOwn, shifted, zero), isOwn};
}

/// `rows` where `isOwn`, else zeros.
static Value keepOwn(ImplicitLocOpBuilder &b, Value isOwn, Value rows) {
  RankedTensorType type = typeOf(rows);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value everywhere =
      b.create<BroadcastOp>(type.clone(b.getI1Type()), isOwn, dims);
  return b.create<SelectOp>(everywhere, rows, splat(b, type, 0));
}

/// The axes along which the rows of a table are divided.
static Axes rowAxes(const SplitOp &split, unsigned table) {
  return split.rule.dimDivided(table, 0, split.factors, split.mesh)->axes;
}

/// Zeros for rows of other ranks, so that the partial sums add up.
static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split,
                   EmbeddingOp op, ValueRange operands) {
  Axes axes = rowAxes(split, 0);
  if (axes.empty())
    return Values(cloneLocal(b, split, operands)->getResults());
  LocalIds ids = findIds(b, operands[1], typeOf(operands[0]).getDimSize(0),
                         axes, split.mesh);
  Operation *local = cloneLocal(b, split, {operands[0], ids.ids});
  return Values{keepOwn(b, ids.isOwn, local->getResult(0))};
}

/// Gradients of rows of other ranks are left out.
static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split,
                   EmbeddingBwdOp op, ValueRange operands) {
  unsigned table = split.rule.numOperands(); // the result
  Axes axes = rowAxes(split, table);
  if (axes.empty())
    return Values(cloneLocal(b, split, operands)->getResults());
  int64_t rows = typeOf(op.getResult()).getDimSize(0) / split.mesh.count(axes);
  LocalIds ids = findIds(b, operands[1], rows, axes, split.mesh);
  Value grad = keepOwn(b, ids.isOwn, operands[0]);
  return Values(cloneLocal(b, split, {grad, ids.ids})->getResults());
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// Undivided rows and classes, or rows that need not be counted, are as they
/// are.
template <typename LossOp>
static Values emitAnyLoss(ImplicitLocOpBuilder &b, const SplitOp &split,
                          LossOp op, ValueRange operands) {
  bool isCounted = op.getReduction() == LossReduction::mean;
  if (split.isSplit() && (isCounted || !split.factors.back().isWhole()))
    return emitLoss(b, split, op, operands);
  return Values(cloneLocal(b, split, operands)->getResults());
}

//===----------------------------------------------------------------------===//
// Norms of many tensors
//===----------------------------------------------------------------------===//

bool dist::acceptsAnySharding(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  return facts && facts.acceptsAnySharding();
}

SmallVector<Value> dist::emitAnySharding(ImplicitLocOpBuilder &b, Operation *op,
                                         ValueRange operands,
                                         ArrayRef<Sharding> shardings,
                                         const Mesh &mesh) {
  // Tensors that are divided along the same axes have one norm.
  llvm::MapVector<Axes, Values, std::map<Axes, unsigned>> groups;
  for (auto [operand, sharding] : llvm::zip_equal(operands, shardings)) {
    Axes axes;
    for (const DimShards &dim : sharding.dims)
      llvm::append_range(axes, dim.axes);
    llvm::sort(axes);
    groups[axes].push_back(operand);
  }
  Type scalar = op->getResult(0).getType();
  if (groups.size() == 1 && groups.front().first.empty())
    return {b.create<GlobalNormOp>(scalar, operands)};
  Value sum;
  for (auto &[axes, tensors] : groups) {
    Value norm = b.create<GlobalNormOp>(scalar, tensors);
    Value square = b.create<MulOp>(norm, norm);
    if (!axes.empty())
      square = b.create<AllReduceOp>(scalar, ReduceKind::sum, square,
                                     namesOf(axes, mesh, b.getContext()));
    sum = sum ? b.create<AddOp>(sum, square).getResult() : square;
  }
  return {b.create<SqrtOp>(sum)};
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// The index, in the whole tensor whose elements draw, of the first element of
/// a rank's part, or of run number `run` of it where a dimension has cuts; null
/// where that tensor is not divided. Counted dimensions are left out.
static Value firstNumber(ImplicitLocOpBuilder &b, const SplitOp &split,
                         RandomOpInterface op, ValueRange operands,
                         unsigned run = 0) {
  auto scalar = RankedTensorType::get({}, b.getI64Type());
  SmallVector<int64_t> shape = op.getRandomShape();
  ArrayRef<int64_t> whole = op.getWhole().value_or(shape);
  SmallVector<unsigned> factors = op.getRandomFactors();
  Value first;
  int64_t stride = 1;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    const DimShards &shards = split.factors[factors[dim]];
    if (!shards.isWhole() && !split.rule.isCounted(factors[dim])) {
      auto runs = [&](int64_t part) {
        return runsOf(shards, shape[dim], split.mesh,
                      part)[shards.cuts.empty() ? 0 : run];
      };
      int64_t base = runs(0).begin, slope = runs(1).begin - base;
      Value term =
          firstPosition(b, scalar, slope * stride, shards.axes, split.mesh);
      if (base != 0)
        term = b.create<AddOp>(term, splat(b, scalar, double(base * stride)));
      first = first ? b.create<AddOp>(first, term).getResult() : term;
    }
    stride *= whole[dim];
  }
  for (OpOperand &origin : MutableOperandRange(op.getOriginMutable())) {
    Value old = operands[origin.getOperandNumber()];
    first = first ? b.create<AddOp>(first, old).getResult() : old;
  }
  return first;
}

static void setPlace(RandomOpInterface local, Value first,
                     RandomOpInterface global) {
  local.getOriginMutable().assign(first);
  local.setWholeAttr(DenseI64ArrayAttr::get(
      local->getContext(),
      global.getWhole().value_or(global.getRandomShape())));
}

/// The op on each run of dimension `dim`, the runs side by side: each begins at
/// a number of its own.
static Values emitRuns(ImplicitLocOpBuilder &b, const SplitOp &split,
                       RandomOpInterface op, ValueRange operands, int64_t dim) {
  unsigned factor = op.getRandomFactors()[dim];
  int64_t size = op.getRandomShape()[dim], begin = 0;
  RankedTensorType type = localTypeOf(split, 0);
  Values parts;
  for (auto [run, own] :
       llvm::enumerate(runsOf(split.factors[factor], size, split.mesh, 0))) {
    Values pieces(operands);
    for (auto [index, operand] : llvm::enumerate(pieces))
      for (auto [place, there] : llvm::enumerate(split.rule.factorsOf(index)))
        if (llvm::is_contained(there, int(factor)))
          operand = sliceOf(b, operand, place, begin, begin + own.length);
    Value first = firstNumber(b, split, op, operands, run);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = own.length;
    Operation *local = b.clone(*op);
    local->removeAttr(shardingsAttr);
    local->setOperands(pieces);
    local->getResult(0).setType(type.clone(shape));
    setPlace(cast<RandomOpInterface>(local), first, op);
    parts.push_back(local->getResult(0));
    begin += own.length;
  }
  return {b.create<ConcatOp>(type, parts, dim)};
}

/// The op draws for its shard what the global op draws there.
static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split,
                   RandomOpInterface op, ValueRange operands) {
  if (!op.getRandomKey())
    return Values(cloneLocal(b, split, operands)->getResults());
  for (auto [dim, factor] : llvm::enumerate(op.getRandomFactors()))
    if (!split.factors[factor].cuts.empty() && !split.rule.isCounted(factor))
      return emitRuns(b, split, op, operands, dim);
  Value first = firstNumber(b, split, op, operands);
  Operation *local = cloneLocal(b, split, operands);
  if (first)
    setPlace(cast<RandomOpInterface>(local), first, op);
  return Values(local->getResults());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Queries whose positions are divided are told where their runs begin.
template <typename AttentionLike>
static Values emitAttention(ImplicitLocOpBuilder &b, const SplitOp &split,
                            AttentionLike op, ValueRange operands) {
  for (auto [index, factor] : llvm::enumerate(split.rule.factors())) {
    const DimShards &shards = split.factors[index];
    if (!split.rule.isCounted(index) || shards.isWhole())
      continue;
    Value first = runStarts(b, shards, factor.size, split.mesh);
    Value origin = op.getRng() ? firstNumber(b, split, op, operands) : Value();
    if (op.getRng() && !origin)
      origin = splat(b, RankedTensorType::get({}, b.getI64Type()), 0);
    auto local = cast<AttentionLike>(cloneLocal(b, split, operands));
    local.getMasksMutable().append(first);
    if (origin)
      setPlace(cast<RandomOpInterface>(local.getOperation()), origin, op);
    return Values(local->getResults());
  }
  return emit(b, split, cast<RandomOpInterface>(op.getOperation()), operands);
}

/// Where ranks have all positions, the op is the attention of one rank.
static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split,
                   RingAttentionOp op, ValueRange operands) {
  if (!split.factors[op.positionFactor].isWhole())
    return Values(cloneLocal(b, split, operands)->getResults());
  SmallVector<Type> types = {localTypeOf(split, 0), localTypeOf(split, 1)};
  auto local = b.create<AttentionOp>(
      types, operands[0], operands[1], operands[2], ValueRange(), ValueRange(),
      b.getUnitAttr(), op.getScaleAttr(), b.getF64FloatAttr(0),
      b.getI64IntegerAttr(0), DenseI64ArrayAttr());
  return Values(local->getResults());
}

static Values emit(ImplicitLocOpBuilder &b, const SplitOp &split,
                   RingAttentionBwdOp op, ValueRange operands) {
  if (!split.factors[op.positionFactor].isWhole())
    return Values(cloneLocal(b, split, operands)->getResults());
  SmallVector<Type> types = {localTypeOf(split, 0), localTypeOf(split, 1),
                             localTypeOf(split, 2)};
  auto local = b.create<AttentionBwdOp>(
      types, operands[0], operands[1], operands[2], operands[3], operands[4],
      operands[5], ValueRange(), ValueRange(), b.getUnitAttr(),
      op.getScaleAttr(), b.getF64FloatAttr(0), b.getI64IntegerAttr(0),
      DenseI64ArrayAttr());
  return Values(local->getResults());
}

SmallVector<Value> dist::emitLocal(ImplicitLocOpBuilder &b,
                                   const SplitOp &split, ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Values>(split.op)
      .Case<SliceOp, PadOp, EmbeddingOp, EmbeddingBwdOp, RingAttentionOp,
            RingAttentionBwdOp>(
          [&](auto op) { return emit(b, split, op, operands); })
      .Case<CrossEntropyOp, CrossEntropyBwdOp>(
          [&](auto op) { return emitAnyLoss(b, split, op, operands); })
      .Case<AttentionOp, AttentionBwdOp>(
          [&](auto op) { return emitAttention(b, split, op, operands); })
      .Case<RandomOpInterface>(
          [&](auto op) { return emit(b, split, op, operands); })
      .Default([&](Operation *) {
        return Values(cloneLocal(b, split, operands)->getResults());
      });
}
