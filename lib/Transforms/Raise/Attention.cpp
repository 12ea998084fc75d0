//===- Attention.cpp - Finds attention written out ------------------------===//
//
//   dropout(softmax(scale * (q k^T) + mask)) v    is attention
//   a mask that is lowest for later keys          is `causal`
//   keys and values that repeat along heads       belong to groups of heads
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "Patterns.h"
#include "hone/Analysis/Attention/Mask.h"

#include <limits>

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
/// Batch and head of the scores [batch, head, T, S], which may be joined to one
/// dimension [batch * head, T, S].
struct Heads {
  int64_t batch, heads;

  /// `shape` with the two dimensions apart.
  SmallVector<int64_t> apart(ArrayRef<int64_t> shape) const {
    SmallVector<int64_t> result(shape);
    if (result.size() == 3) {
      result.front() = batch;
      result.insert(result.begin() + 1, heads);
    }
    return result;
  }
};
} // namespace

/// `mask`, of the scores' shape, as [B or 1, H or 1, T, S]: without the
/// repetition that a broadcast made.
static Value compactMask(Value mask, const Heads &heads,
                         PatternRewriter &rewriter) {
  Location loc = mask.getLoc();
  auto type = cast<RankedTensorType>(mask.getType());
  SmallVector<int64_t> compact = heads.apart(type.getShape());
  auto broadcast = mask.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return rewriter.createOrFold<ReshapeOp>(loc, type.clone(compact), mask);
  // Leading dimensions that the operand does not have are of size 1; T and S
  // are there in full.
  int64_t rank = type.getRank();
  auto isKept = [&](int64_t dim) {
    return llvm::is_contained(broadcast.getDims(), dim);
  };
  if (rank == 3 && !isKept(0))
    compact[0] = compact[1] = 1;
  for (int64_t dim = 0; rank == 4 && dim != 2; ++dim)
    if (!isKept(dim))
      compact[dim] = 1;
  SmallVector<int64_t> inner, dims;
  for (int64_t dim = 0; dim != rank; ++dim) {
    if (isKept(dim))
      dims.push_back(inner.size());
    if (isKept(dim) || dim >= rank - 2)
      inner.push_back(type.getDimSize(dim));
  }
  Value full = broadcast.getOperand();
  if (shapeOf(full) != ArrayRef(inner))
    full = rewriter.create<BroadcastOp>(loc, type.clone(inner), full,
                                        rewriter.getDenseI64ArrayAttr(dims));
  return rewriter.createOrFold<ReshapeOp>(loc, type.clone(compact), full);
}

/// `mask` with its dimensions of size 1 repeated to `shape`.
static Value repeatMask(Value mask, ArrayRef<int64_t> shape,
                        PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(mask.getType());
  if (type.getShape() == shape)
    return mask;
  SmallVector<int64_t> dims, kept;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size == shape[dim]) {
      dims.push_back(dim);
      kept.push_back(size);
    }
  Location loc = mask.getLoc();
  Value packed = rewriter.createOrFold<ReshapeOp>(loc, type.clone(kept), mask);
  return rewriter.create<BroadcastOp>(loc, type.clone(shape), packed,
                                      rewriter.getDenseI64ArrayAttr(dims));
}

/// A choice between scores and -inf as something to add: 0 or -inf.
static Value additiveMask(Value keep, bool keepWhenTrue, Type elementType,
                          PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(keep.getType()).clone(elementType);
  auto splat = [&](double number) -> Value {
    return rewriter.create<ConstantOp>(
        keep.getLoc(), DenseElementsAttr::get(
                           type, rewriter.getFloatAttr(elementType, number)));
  };
  Value zero = splat(0.0);
  Value low = splat(-std::numeric_limits<double>::infinity());
  return rewriter.create<SelectOp>(keep.getLoc(), type, keep,
                                   keepWhenTrue ? zero : low,
                                   keepWhenTrue ? low : zero);
}

/// All that is added to the scores, as the op's mask; null if nothing is.
static Value buildMask(const AttentionScores &scores, const Heads &heads,
                       Type elementType, PatternRewriter &rewriter) {
  Value mask;
  if (scores.mask)
    mask = compactMask(scores.mask, heads, rewriter);
  if (!scores.keep)
    return mask;
  Value keep = compactMask(scores.keep, heads, rewriter);
  Value low = additiveMask(keep, scores.keepWhenTrue, elementType, rewriter);
  if (!mask)
    return low;
  if (mask.getType() != low.getType()) {
    ArrayRef<int64_t> a = shapeOf(mask), b = shapeOf(low);
    int64_t shape[] = {std::max(a[0], b[0]), std::max(a[1], b[1]), a[2], a[3]};
    mask = repeatMask(mask, shape, rewriter);
    low = repeatMask(low, shape, rewriter);
  }
  return rewriter.create<AddOp>(low.getLoc(), mask, low);
}

/// `value` without a constant factor that only it reads, which goes to `scale`.
static Value withoutFactor(Value value, double &scale,
                           PatternRewriter &rewriter) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasOneUse())
    return value;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Value inner = withoutFactor(transpose.getOperand(), scale, rewriter);
    if (inner == transpose.getOperand())
      return value;
    return rewriter.create<TransposeOp>(value.getLoc(), inner,
                                        transpose.getPermutation());
  }
  if (!isa<MulOp, DivOp>(op))
    return value;
  std::optional<double> number = constantOf(op->getOperand(1));
  if (!number)
    return value;
  scale *= isa<MulOp>(op) ? *number : 1.0 / *number;
  return op->getOperand(0);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// One value, or none where it is null.
static ValueRange withoutNull(const Value &value) {
  return value ? ValueRange(value) : ValueRange();
}

namespace {
/// dropout(softmax(scores)) v
struct AttentionOfProducts : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override;
};

/// v dropout(softmax(scores)), which is the same with the operands swapped.
struct WeightsSecond : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp op,
                                PatternRewriter &rewriter) const override {
    Value weights = op.getRhs();
    if (auto dropout = weights.getDefiningOp<DropoutOp>())
      weights = dropout.getInput();
    if (!weights.getDefiningOp<SoftmaxOp>() ||
        op.getLhs().getDefiningOp<SoftmaxOp>())
      return rewriter.notifyMatchFailure(op, "right operand is no softmax");
    if (op.getLhsFree().size() != 1 || op.getRhsFree().size() != 1)
      return rewriter.notifyMatchFailure(op, "is no product of matrices");
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> shape(type.getShape());
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    std::swap(shape[shape.size() - 2], shape.back());
    std::swap(order[order.size() - 2], order.back());
    Value product = rewriter.create<DotGeneralOp>(
        op.getLoc(), type.clone(shape), op.getRhs(), op.getLhs(),
        op.getRhsBatch(), op.getLhsBatch(), op.getRhsContract(),
        op.getLhsContract());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, product, order);
    return success();
  }
};

/// Keys and values of H heads that repeat those of G.
struct GroupsOfRepeatedHeads : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override;
};

/// attention with a mask that is causal
struct CausalOfMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMask())
      return rewriter.notifyMatchFailure(op, "has no mask");
    if (!isCausalMask(op.getMask()))
      return rewriter.notifyMatchFailure(op, "mask is not causal");
    rewriter.modifyOpInPlace(op, [&] {
      op.getMasksMutable().assign(withoutNull(op.getSegments()));
      op.setCausal(true);
    });
    return success();
  }
};

/// attention with a mask that hides later keys, and others too
struct CausalBesideMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getCausal() || !op.getMask())
      return rewriter.notifyMatchFailure(op, "is causal, or has no mask");
    if (!hidesLaterKeys(op.getMask()))
      return rewriter.notifyMatchFailure(op, "mask shows later keys");
    rewriter.modifyOpInPlace(op, [&] { op.setCausal(true); });
    return success();
  }
};

/// attention with a mask that shows equal ids
struct SegmentsOfMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

/// `operand`, with the dimensions `batch` (batch and head, or both joined),
/// `position` and `width`, as [B, positions, H, width].
static Value arrange(Value operand, ArrayRef<int64_t> batch, int64_t position,
                     int64_t width, const Heads &heads,
                     PatternRewriter &rewriter) {
  const int64_t swapped[] = {0, 2, 1, 3};
  Location loc = operand.getLoc();
  if (batch.size() == 2) {
    const int64_t permutation[] = {batch[0], position, batch[1], width};
    return rewriter.createOrFold<TransposeOp>(loc, operand, permutation);
  }
  const int64_t permutation[] = {batch[0], position, width};
  Value rows = rewriter.createOrFold<TransposeOp>(loc, operand, permutation);
  auto type = cast<RankedTensorType>(rows.getType());
  Value apart = rewriter.create<ReshapeOp>(
      loc, type.clone(heads.apart(type.getShape())), rows);
  return rewriter.create<TransposeOp>(loc, apart, swapped);
}

/// Batch and head, from what was joined to the scores' first dimension; one
/// head each when nothing tells them apart.
static Heads findHeads(const AttentionScores &scores) {
  if (!scores.apart.empty())
    return {scores.apart[0], scores.apart[1]};
  DotGeneralOp dot = scores.dot;
  if (auto reshape = dot.getLhs().getDefiningOp<ReshapeOp>()) {
    ArrayRef<int64_t> from = shapeOf(reshape.getOperand());
    ArrayRef<int64_t> to = shapeOf(reshape);
    if (from.size() == 4 && to.size() == 3 &&
        from.take_back(2) == to.take_back(2))
      return {from[0], from[1]};
  }
  return {shapeOf(dot).front(), 1};
}

LogicalResult
AttentionOfProducts::matchAndRewrite(DotGeneralOp op,
                                     PatternRewriter &rewriter) const {
  Value weights = op.getLhs();
  DropoutOp dropout;
  while (true) {
    if (Value inner = peelLeading(weights)) {
      weights = inner;
      continue;
    }
    auto next = weights.getDefiningOp<DropoutOp>();
    if (dropout || !next)
      break;
    dropout = next;
    weights = next.getInput();
  }
  auto softmax = weights.getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return rewriter.notifyMatchFailure(op, "left operand is no softmax");

  // weights [batch.., T, S], value [batch.., S, E] in any order
  int64_t rank = shapeOf(op.getLhs()).size();
  int64_t batches = rank - 2;
  ArrayRef<int64_t> weightBatch = op.getLhsBatch();
  if ((batches != 1 && batches != 2) ||
      int64_t(weightBatch.size()) != batches ||
      op.getLhsContract() != ArrayRef<int64_t>{rank - 1} ||
      llvm::is_contained(weightBatch, rank - 2) || op.getRhsFree().size() != 1)
    return rewriter.notifyMatchFailure(
        op, "product does not sum over the keys of each batch and head");

  StringRef reason;
  FailureOr<AttentionScores> scores =
      matchAttentionScores(softmax.getInput(), reason);
  if (failed(scores))
    return rewriter.notifyMatchFailure(
        op, [&](Diagnostic &diagnostic) { diagnostic << reason; });
  DotGeneralOp dot = scores->dot;
  if (int64_t(dot.getLhsBatch().size()) != batches ||
      dot.getLhsContract().size() != 1 || dot.getLhsFree().size() != 1 ||
      dot.getRhsFree().size() != 1)
    return rewriter.notifyMatchFailure(
        op, "scores do not pair queries with keys of each batch and head");
  for (Operation *step : {softmax.getOperation(), dot.getOperation(),
                          dropout ? dropout.getOperation() : nullptr})
    if (step && !step->hasOneUse())
      return rewriter.notifyMatchFailure(op, "scores or weights have another "
                                             "reader");

  Heads heads = findHeads(*scores);
  // Batch dimension i of the weights pairs with this one of the values.
  SmallVector<int64_t> valueBatch(batches);
  for (auto [mine, other] : llvm::zip(weightBatch, op.getRhsBatch()))
    valueBatch[mine] = other;
  Value query = arrange(withoutFactor(dot.getLhs(), scores->scale, rewriter),
                        dot.getLhsBatch(), dot.getLhsFree()[0],
                        dot.getLhsContract()[0], heads, rewriter);
  Value key = arrange(withoutFactor(dot.getRhs(), scores->scale, rewriter),
                      dot.getRhsBatch(), dot.getRhsFree()[0],
                      dot.getRhsContract()[0], heads, rewriter);
  Value value = arrange(op.getRhs(), valueBatch, op.getRhsContract()[0],
                        op.getRhsFree()[0], heads, rewriter);
  auto type = cast<RankedTensorType>(query.getType());
  Value mask = buildMask(*scores, heads, type.getElementType(), rewriter);

  SmallVector<Value> random;
  if (dropout)
    random.push_back(dropout.getRng());
  ArrayRef<int64_t> q = type.getShape();
  auto attention = rewriter.create<AttentionOp>(
      op.getLoc(),
      TypeRange{type.clone({q[0], q[1], q[2], shapeOf(value)[3]}),
                type.clone({q[0], q[2], q[1]})},
      query, key, value, withoutNull(mask), random,
      scores->causal ? rewriter.getUnitAttr() : UnitAttr(),
      rewriter.getF64FloatAttr(scores->scale),
      dropout ? dropout.getPAttr() : rewriter.getF64FloatAttr(0.0),
      dropout ? dropout.getSaltAttr() : rewriter.getI64IntegerAttr(0),
      /*whole=*/DenseI64ArrayAttr());

  // The product had [its batches as listed, T, E].
  SmallVector<int64_t> permutation = {0, 2, 1, 3};
  if (batches == 2)
    for (auto [position, dim] : llvm::enumerate(weightBatch))
      permutation[position] = dim == 0 ? 0 : 2;
  Value result = rewriter.create<TransposeOp>(
      op.getLoc(), attention.getResult(), permutation);
  rewriter.replaceOp(
      op, rewriter.createOrFold<ReshapeOp>(op.getLoc(), op.getType(), result));
  return success();
}

//===----------------------------------------------------------------------===//
// Groups of heads
//===----------------------------------------------------------------------===//

/// If `value` [B, S, H, D] repeats each of G heads H / G times in a row: the
/// value with G heads. `build` says whether to make it, or only to look.
static Value withoutRepeats(Value value, PatternRewriter &rewriter,
                            bool build) {
  const int64_t swapped[] = {0, 2, 1, 3};
  int64_t heads = 2;
  Value repeated = value;
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    if (transpose.getPermutation() != ArrayRef(swapped))
      return {};
    heads = 1;
    repeated = transpose.getOperand();
  }
  auto joined = repeated.getDefiningOp<ReshapeOp>();
  auto broadcast =
      joined ? joined.getOperand().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!broadcast)
    return {};
  // [.., G, repeats, ..] joined to [.., H, ..]
  ArrayRef<int64_t> shape = shapeOf(repeated);
  SmallVector<int64_t> apart(shapeOf(broadcast));
  if (apart.size() != 5 || apart[heads] * apart[heads + 1] != shape[heads])
    return {};
  SmallVector<int64_t> together(apart);
  together[heads] *= together[heads + 1];
  together.erase(together.begin() + heads + 1);
  // Dimensions of size 1 may have been dropped from the operand.
  bool repeatsOnly = ArrayRef(together) == shape &&
                     !llvm::is_contained(broadcast.getDims(), heads + 1);
  for (int64_t dim = 0; dim != 5; ++dim)
    if (dim != heads + 1 && apart[dim] != 1 &&
        !llvm::is_contained(broadcast.getDims(), dim))
      repeatsOnly = false;
  if (!repeatsOnly)
    return {};
  if (!build)
    return value;
  apart.erase(apart.begin() + heads + 1);
  auto type = cast<RankedTensorType>(value.getType());
  Value single = rewriter.createOrFold<ReshapeOp>(
      value.getLoc(), type.clone(apart), broadcast.getOperand());
  return heads == 2
             ? single
             : rewriter.create<TransposeOp>(value.getLoc(), single, swapped);
}

LogicalResult
GroupsOfRepeatedHeads::matchAndRewrite(AttentionOp op,
                                       PatternRewriter &rewriter) const {
  if (!withoutRepeats(op.getKey(), rewriter, /*build=*/false) ||
      !withoutRepeats(op.getValue(), rewriter, /*build=*/false))
    return rewriter.notifyMatchFailure(op, "keys or values do not repeat");
  int64_t queryHeads = shapeOf(op.getQuery())[2];
  if (shapeOf(op.getKey())[2] != queryHeads)
    return rewriter.notifyMatchFailure(op, "heads are grouped already");
  Value key = withoutRepeats(op.getKey(), rewriter, /*build=*/true);
  Value value = withoutRepeats(op.getValue(), rewriter, /*build=*/true);
  if (shapeOf(key)[2] != shapeOf(value)[2])
    return rewriter.notifyMatchFailure(op, "keys repeat otherwise than values");
  rewriter.modifyOpInPlace(op, [&] {
    op.getKeyMutable().assign(key);
    op.getValueMutable().assign(value);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The ids of `pairs` as [batch, T].
static Value buildSegments(const VisiblePairs &pairs, int64_t batch,
                           PatternRewriter &rewriter) {
  Location loc = pairs.ids.getLoc();
  auto type = cast<RankedTensorType>(pairs.ids.getType());
  int64_t positions = type.getDimSize(pairs.position);
  Value ids = pairs.ids;
  if (pairs.batch > pairs.position) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    std::swap(order[pairs.batch], order[pairs.position]);
    ids = rewriter.create<TransposeOp>(loc, ids, order);
  }
  RankedTensorType segments = type.clone({batch, positions});
  if (type.getNumElements() == segments.getNumElements())
    return rewriter.createOrFold<ReshapeOp>(loc, segments, ids);
  ids = rewriter.createOrFold<ReshapeOp>(loc, type.clone({positions}), ids);
  return rewriter.create<BroadcastOp>(loc, segments, ids,
                                      rewriter.getDenseI64ArrayAttr(1));
}

LogicalResult SegmentsOfMask::matchAndRewrite(AttentionOp op,
                                              PatternRewriter &rewriter) const {
  if (!op.getMask() || op.getSegments())
    return rewriter.notifyMatchFailure(op, "has no mask, or segments");
  std::optional<VisiblePairs> pairs = findVisiblePairs(op.getMask(), lowScore);
  if (!pairs)
    return rewriter.notifyMatchFailure(op, "mask is not one of equal ids");
  Value segments = buildSegments(*pairs, shapeOf(op.getQuery())[0], rewriter);
  rewriter.modifyOpInPlace(op, [&] {
    op.getMasksMutable().assign(segments);
    op.setCausal(op.getCausal() || pairs->causal);
  });
  return success();
}

void hone::populateRaiseAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<AttentionOfProducts, WeightsSecond, GroupsOfRepeatedHeads,
               CausalOfMask, CausalBesideMask, SegmentsOfMask>(
      patterns.getContext());
}
