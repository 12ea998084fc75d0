//===- DecomposeAttention.cpp - Attention as products and row ops ---------===//
//
// Two batched products and a softmax forward, five products and its gradient
// backward. Heads come first, as [batch, head, position, width]; query heads
// that share a key head lie one after the other, as rows of one product, so
// that keys and values are never repeated. Scores and what the softmax makes of
// them are [batch, head, query, key], the index that dropout counts by.
// Attention over two sets of keys is an average of rows.
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"
#include "hone/Analysis/Fusion/Groups.h"
#include "hone/IR/MergeOps.h"
#include "hone/IR/QueryPositions.h"
#include "hone/Transforms/Passes.h"

namespace hone {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// One row of scores per batch, head and query.
template <typename AttentionLike>
static RankedTensorType scoresType(AttentionLike op) {
  RankedTensorType query = typeOf(op.getQuery());
  return query.clone({query.getDimSize(0), query.getDimSize(2),
                      query.getDimSize(1), typeOf(op.getKey()).getDimSize(1)});
}

namespace {
/// Which dimension of [batch, head, position, width] a product contracts.
enum Contracted : int64_t { Position = 2, Width = 3 };

/// Writes one attention in primitives, right before it.
class Decomposer {
public:
  template <typename AttentionLike>
  Decomposer(AttentionLike op, OpBuilder &builder)
      : r(op.getLoc(), scoresType(op), /*width=*/0, builder), b(r.b),
        mask(op.getMask()), causal(op.getCausal()), factor(op.getScale()) {
    if constexpr (std::is_same_v<AttentionLike, DecodeAttentionOp>) {
      first = op.getFirst();
    } else {
      first = firstPositions(op.getMasks());
      segments = op.getSegments();
      rng = op.getRng();
      origin = op.getOrigin();
      whole = op.getWholeAttr();
      dropout = op.getDropoutAttr();
      salt = op.getSaltAttr();
    }
    low = getElementTypeOrSelf(op.getQuery());
    wide = r.full.getElementType();
    keyHeads = typeOf(op.getKey()).getDimSize(2);
    query = byKeyHead(swapHeads(op.getQuery()));
    key = swapHeads(op.getKey());
    value = swapHeads(op.getValue());
  }

  /// Result and log-sum-exp.
  SmallVector<Value> forward(AttentionOp op);
  SmallVector<Value> forward(DecodeAttentionOp op);
  /// Gradients of query, key and value.
  SmallVector<Value> backward(AttentionBwdOp op);

private:
  Value reshape(Value x, ArrayRef<int64_t> shape);
  Value swapHeads(Value x);
  Value byKeyHead(Value x);
  Value byHead(Value x);
  Value product(Value lhs, Contracted lhsDim, Value rhs, Contracted rhsDim,
                Type element);
  Value scaled(Value x);
  Value dots() { return product(query, Width, key, Width, wide); }
  Value scores(Value dots);
  Value again(int64_t number, llvm::function_ref<Value()> make);
  Value everyScore(Value x);
  Value queryPositions();
  Value hideLaterKeys(Value x);
  Value hideOtherSegments(Value x);
  Value drop(Value x);
  Value dropRun(Value x, int64_t run);
  Value operandOf(Value x);
  /// The softmax of scores s, and for each row the largest and the sum of
  /// e^(s - largest).
  struct Softmax {
    Value weights, top, sum;
  };
  Softmax softmax();
  Value average(Value weights, Type element);
  Value isEqual(Value x, Value y);
  Value delta(AttentionBwdOp op);

  RowBuilder r; ///< over the scores
  ImplicitLocOpBuilder &b;
  Type low, wide;          ///< of operands, and of what is computed
  int64_t keyHeads;        ///< G, of H
  Value query, key, value; ///< [B, G, H/G T, D], [B, G, S, D], [B, G, S, E]
  Value mask, segments, rng, origin; ///< or null
  Value first;             ///< positions where runs of queries begin; null: 0
  DenseI64ArrayAttr whole; ///< or null
  bool causal;
  APFloat factor;
  FloatAttr dropout;
  IntegerAttr salt;
};
} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value Decomposer::reshape(Value x, ArrayRef<int64_t> shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return b.create<ReshapeOp>(typeOf(x).clone(shape), x);
}

/// [batch, position, head, width] to [batch, head, position, width], and back.
Value Decomposer::swapHeads(Value x) {
  return b.create<TransposeOp>(x, ArrayRef<int64_t>{0, 2, 1, 3});
}

/// [B, H, T, n] to [B, G, H/G T, n]: the rows of all heads that share keys.
Value Decomposer::byKeyHead(Value x) {
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  int64_t rows = shape[1] / keyHeads * shape[2];
  return reshape(x, {shape[0], keyHeads, rows, shape[3]});
}

/// [B, G, H/G T, n] to [B, H, T, n].
Value Decomposer::byHead(Value x) {
  ArrayRef<int64_t> scores = r.full.getShape();
  return reshape(x, {scores[0], scores[1], scores[2], typeOf(x).getDimSize(3)});
}

/// Batched over batch and key heads. Sums are kept in `wide` and rounded once,
/// to `element`.
Value Decomposer::product(Value lhs, Contracted lhsDim, Value rhs,
                          Contracted rhsDim, Type element) {
  auto other = [](Contracted dim) {
    return dim == Position ? Width : Position;
  };
  ArrayRef<int64_t> left = typeOf(lhs).getShape();
  auto type = RankedTensorType::get({left[0], left[1], left[other(lhsDim)],
                                     typeOf(rhs).getDimSize(other(rhsDim))},
                                    element);
  SmallVector<int64_t> batch = {0, 1};
  return b.create<DotGeneralOp>(type, lhs, rhs, batch, batch,
                                ArrayRef<int64_t>{lhsDim},
                                ArrayRef<int64_t>{rhsDim});
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// `x`, in the type of the scores, times the scale of the attention.
Value Decomposer::scaled(Value x) {
  if (factor.isExactlyValue(1.0))
    return x;
  // A constant of f64: rounding it is the compute type's.
  Value exact =
      r.splat(typeOf(x).clone(b.getF64Type()), factor.convertToDouble());
  return r.mul(x, r.castTo(exact, wide));
}

/// A mask, repeated for every batch or head that it has only one of.
Value Decomposer::everyScore(Value x) {
  SmallVector<int64_t> dims, shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape()))
    if (size == r.full.getDimSize(dim)) {
      dims.push_back(dim);
      shape.push_back(size);
    }
  if (dims.size() == 4)
    return r.widen(x);
  auto type = r.full.clone(typeOf(x).getElementType());
  return r.widen(b.create<BroadcastOp>(type, reshape(x, shape),
                                       b.getDenseI64ArrayAttr(dims)));
}

/// Where the query of each score stands among the keys, in i32.
Value Decomposer::queryPositions() {
  RankedTensorType positions = r.full.clone(b.getI32Type());
  if (!first)
    return b.create<IotaOp>(positions, uint64_t(2));
  // One number for each row of scores, which a kernel of rows reads; that for
  // each score would be a kernel of its own, and as much memory.
  int64_t runs = typeOf(first).getNumElements();
  ArrayRef<int64_t> rows = positions.getShape().drop_back();
  SmallVector<int64_t> shape = {rows[0], rows[1], runs, rows[2] / runs};
  auto byRun = RankedTensorType::get(shape, b.getI32Type());
  Value begin = b.create<CastOp>(RankedTensorType::get({runs}, b.getI32Type()),
                                 reshape(first, {runs}));
  Value at =
      r.add(b.create<IotaOp>(byRun, uint64_t(3)),
            b.create<BroadcastOp>(byRun, begin, b.getDenseI64ArrayAttr({2})));
  return b.create<BroadcastOp>(positions, reshape(at, rows),
                               b.getDenseI64ArrayAttr({0, 1, 2}));
}

/// -inf for keys after the query.
Value Decomposer::hideLaterKeys(Value x) {
  RankedTensorType positions = r.full.clone(b.getI32Type());
  Value queryAt = queryPositions();
  Value keyAt = b.create<IotaOp>(positions, uint64_t(3));
  Value isSeen = b.create<CmpOp>(r.full.clone(b.getI1Type()), CmpPredicate::le,
                                 keyAt, queryAt);
  return b.create<SelectOp>(isSeen, x, r.splat(r.full, minusInfinity));
}

/// -inf for keys of other segments than the query's.
Value Decomposer::hideOtherSegments(Value x) {
  RankedTensorType ids = r.full.clone(typeOf(segments).getElementType());
  auto along = [&](int64_t dim) {
    return b.create<BroadcastOp>(ids, segments,
                                 b.getDenseI64ArrayAttr({0, dim}));
  };
  Value isSame = b.create<CmpOp>(r.full.clone(b.getI1Type()), CmpPredicate::eq,
                                 along(2), along(3));
  return b.create<SelectOp>(isSame, x, r.splat(r.full, minusInfinity));
}

/// s[b, h, t, u], scaled and masked, of the products of query and key.
Value Decomposer::scores(Value dots) {
  Value s = scaled(byHead(dots));
  if (mask)
    s = r.add(s, everyScore(mask));
  if (segments)
    s = hideOtherSegments(s);
  return causal ? hideLaterKeys(s) : s;
}

/// The rows of run number `run`, whose numbers begin at its position.
Value Decomposer::dropRun(Value x, int64_t run) {
  RankedTensorType type = typeOf(x), scalar = typeOf(origin);
  int64_t length = type.getDimSize(2) / typeOf(first).getDimSize(0);
  SmallVector<int64_t> shape(type.getShape()), limits = shape, starts(4, 0);
  shape[2] = length;
  starts[2] = run * length;
  limits[2] = starts[2] + length;
  Value rows = b.create<SliceOp>(type.clone(shape), x, starts, limits,
                                 SmallVector<int64_t>(4, 1));
  Value position = reshape(
      b.create<SliceOp>(typeOf(first).clone({1}), first, ArrayRef<int64_t>{run},
                        ArrayRef<int64_t>{run + 1}, ArrayRef<int64_t>{1}),
      {});
  Value stride = b.create<ConstantOp>(DenseElementsAttr::get(
      scalar, b.getI64IntegerAttr(whole.asArrayRef()[3])));
  Value begin =
      b.create<AddOp>(origin, b.create<MulOp>(position, stride).getResult());
  return b.create<DropoutOp>(rows.getType(), rows, rng, begin, dropout, salt,
                             whole);
}

/// Zeroes what dropout zeroes, by the index in [B, H, T, S], or in the whole of
/// which that is a part.
Value Decomposer::drop(Value x) {
  if (!rng)
    return x;
  if (first) {
    SmallVector<Value> runs;
    for (int64_t run = 0; run != typeOf(first).getDimSize(0); ++run)
      runs.push_back(dropRun(x, run));
    return b.create<ConcatOp>(typeOf(x), runs, uint64_t(2));
  }
  return b.create<DropoutOp>(x.getType(), x, rng, origin, dropout, salt, whole);
}

/// Values like scores as an operand of products: rounded, by key heads.
Value Decomposer::operandOf(Value x) { return byKeyHead(r.castTo(x, low)); }

//===----------------------------------------------------------------------===//
// Forward and backward
//===----------------------------------------------------------------------===//

Value Decomposer::isEqual(Value x, Value y) {
  return b.create<CmpOp>(r.rows.clone(b.getI1Type()), CmpPredicate::eq, x, y);
}

Decomposer::Softmax Decomposer::softmax() {
  Value s = scores(dots());
  Value top = r.reduceRow(ReduceKind::max, s), base = top;
  // Where a mask hides a whole row, weights are 0 / 1.
  Value isHidden =
      mask ? isEqual(top, r.splat(r.rows, minusInfinity)) : Value();
  if (mask)
    base = b.create<SelectOp>(isHidden, r.splat(r.rows, 0.0), top);
  Value e = r.exp(r.sub(s, r.perRow(base)));
  Value sum = r.sumRow(e), divisor = sum;
  if (mask)
    divisor = b.create<SelectOp>(isHidden, r.splat(r.rows, 1.0), sum);
  Value p = r.div(e, r.perRow(divisor));
  return {p, top, sum};
}

/// The result, in `element`: values by their weights.
Value Decomposer::average(Value weights, Type element) {
  Value o = product(operandOf(drop(weights)), Width, value, Position, element);
  return swapHeads(byHead(o));
}

SmallVector<Value> Decomposer::forward(AttentionOp op) {
  Softmax made = softmax();
  Value infinity = r.splat(r.rows, -minusInfinity);
  Value isInfinite = isEqual(b.create<AbsOp>(made.top), infinity);
  Value lse = r.add(made.top, b.create<LogOp>(made.sum));
  lse = b.create<SelectOp>(isInfinite, infinity, lse);
  Value result = average(made.weights, elementOf(op.getResult()));
  return {result, r.narrow(lse, op.getLse())};
}

SmallVector<Value> Decomposer::forward(DecodeAttentionOp) {
  return {average(softmax().weights, low)};
}

/// What `make` makes, marked as recomputed: ops of the forward pass that are
/// the same are not merged with them, which would store scores in between, and
/// they run in the kernel that reads them. Equal ops of another number stay
/// apart.
Value Decomposer::again(int64_t number, llvm::function_ref<Value()> make) {
  Block::iterator end = b.getInsertionPoint();
  Operation *last = end->getPrevNode();
  Value made = make();
  Block::iterator first =
      last ? std::next(last->getIterator()) : b.getInsertionBlock()->begin();
  for (Operation &op : llvm::make_range(first, end))
    if (!isa<ReshapeOp>(op) && !isFreeValue(&op))
      op.setAttr(attr::clone, b.getI64IntegerAttr(number));
  return made;
}

/// sum_e grad * output, per row of scores.
Value Decomposer::delta(AttentionBwdOp op) {
  RowBuilder rows(op, op.getGrad(), /*width=*/0, b); // [B, T, H, E]
  Value sum = rows.sumRow(
      rows.mul(rows.widen(op.getGrad()), rows.widen(op.getOutput())));
  return b.create<TransposeOp>(sum, ArrayRef<int64_t>{0, 2, 1});
}

SmallVector<Value> Decomposer::backward(AttentionBwdOp op) {
  Value lse = r.widen(op.getLse());
  Value s = again(0, [&] { return dots(); });
  auto weights = [&] { return r.exp(r.sub(scores(s), r.perRow(lse))); };
  Value grad = byKeyHead(swapHeads(op.getGrad()));
  // Two kernels compute the weights: one stands before dp, one after it.
  Value p = again(0, [&] { return operandOf(drop(weights())); });
  Type made = elementOf(op.getQueryGrad());
  Value dv = product(p, Position, grad, Position, made);
  Value dp = drop(byHead(product(grad, Width, value, Width, wide)));
  p = again(1, weights);
  Value ds = r.mul(p, r.sub(dp, r.perRow(delta(op))));
  Value rounded = operandOf(scaled(ds));
  Value dq = product(rounded, Width, key, Position, made);
  Value dk = product(rounded, Position, query, Position, made);
  return {swapHeads(byHead(dq)), swapHeads(dk), swapHeads(dv)};
}

//===----------------------------------------------------------------------===//
// Two sets of keys
//===----------------------------------------------------------------------===//

/// Weights are computed per row, then rows are averaged by them.
static SmallVector<Value> decompose(MergeAttentionOp op, OpBuilder &builder) {
  RowBuilder r(op, op.getResult(), /*width=*/0, builder);
  ImplicitLocOpBuilder &b = r.b;
  RankedTensorType rows = typeOf(op.getLse());
  Value least = r.splat(rows, minusInfinity);
  Value infinity = r.splat(rows, -minusInfinity);
  auto isEqual = [&](Value x, Value y) -> Value {
    return b.create<CmpOp>(rows.clone(b.getI1Type()), CmpPredicate::eq, x, y);
  };
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return b.create<SelectOp>(condition, x, y);
  };
  // A set of which no key is seen has an infinite log-sum-exp of either sign.
  auto seen = [&](Value lse) {
    return choose(isEqual(lse, infinity), least, lse);
  };
  Value lse = seen(op.getLse()), other = seen(op.getOtherLse());
  Value top = b.create<MaxOp>(lse, other);
  Value isHidden = isEqual(top, least);
  Value base = choose(isHidden, r.splat(rows, 0.0), top);
  Value weight = r.exp(r.sub(lse, base)), second = r.exp(r.sub(other, base));
  Value sum = r.add(weight, second);
  Value divisor = choose(isHidden, r.splat(rows, 1.0), sum);
  auto share = [&](Value weight, Value result) {
    Value own = b.create<TransposeOp>(r.div(weight, divisor),
                                      ArrayRef<int64_t>{0, 2, 1});
    return r.mul(r.perRow(own), result);
  };
  Value merged =
      r.add(share(weight, op.getResult()), share(second, op.getOther()));
  return {merged,
          choose(isHidden, infinity, r.add(base, b.create<LogOp>(sum)))};
}

namespace {
struct DecomposeAttention
    : hone::impl::DecomposeAttentionBase<DecomposeAttention> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetDescription> target =
        getTarget(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    auto stays = [&](Operation *op) {
      return keepFused && target->hasFusedAttention(op);
    };
    Block &body = getOperation().getBody().front();
    for (auto op : llvm::make_early_inc_range(body.getOps<AttentionOp>()))
      if (!stays(op))
        replace(op, [&](Decomposer &by) { return by.forward(op); });
    for (auto op : llvm::make_early_inc_range(body.getOps<DecodeAttentionOp>()))
      if (!stays(op))
        replace(op, [&](Decomposer &by) { return by.forward(op); });
    for (auto op : llvm::make_early_inc_range(body.getOps<AttentionBwdOp>()))
      if (!stays(op))
        replace(op, [&](Decomposer &by) { return by.backward(op); });
    for (auto op :
         llvm::make_early_inc_range(body.getOps<MergeAttentionOp>())) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(decompose(op, builder));
      op.erase();
    }
  }

  template <typename AttentionLike>
  void replace(AttentionLike op,
               llvm::function_ref<SmallVector<Value>(Decomposer &)> write) {
    OpBuilder builder(op);
    Decomposer by(op, builder);
    op->replaceAllUsesWith(write(by));
    op.erase();
  }
};
} // namespace
