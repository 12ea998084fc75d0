//===- NamedOps.cpp - Verifiers and facts of the named ops ----------------===//
//
// Norms, softmax, losses, attention, RoPE, dropout and their backward ops.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "hone/IR/QueryPositions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

static LogicalResult expectRankAtLeastOne(Operation *op, StringRef what,
                                          Value value) {
  if (!shapeOf(value).empty())
    return success();
  return op->emitOpError() << what << " has rank 0, expected at least 1";
}

/// `width` elements fit a row of `value`.
static LogicalResult expectWidth(Operation *op, uint64_t width, Value value) {
  int64_t size = shapeOf(value).back();
  if (width <= uint64_t(size))
    return success();
  return op->emitOpError() << "width is " << int64_t(width)
                           << ", expected 0 <= width <= " << size;
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "input", getInput())) ||
      failed(expectType(*this, "result", getResult(), getInput().getType())))
    return failure(); // layer_norm_c1
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (failed(expectShape(*this, "scale", getScale(), shape.back())) ||
      failed(expectShape(*this, "bias", getBias(), shape.back())))
    return failure(); // layer_norm_c2
  if (failed(expectShape(*this, "mean", getMean(), shape.drop_back())) ||
      failed(expectShape(*this, "rstd", getRstd(), shape.drop_back())))
    return failure();                                // layer_norm_c3
  return expectWidth(*this, getWidth(), getInput()); // layer_norm_c4
}

DimensionMapping LayerNormOp::getDimensionMapping() {
  SmallVector<Value> vectors;
  if (getScale())
    vectors.push_back(getScale());
  if (getBias())
    vectors.push_back(getBias());
  return hone::detail::rowMapping(*this, vectors);
}

LogicalResult RmsNormOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "input", getInput())) ||
      failed(expectType(*this, "result", getResult(), getInput().getType())))
    return failure(); // rms_norm_c1
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (failed(expectShape(*this, "scale", getScale(), shape.back())))
    return failure(); // rms_norm_c2
  if (failed(expectShape(*this, "rstd", getRstd(), shape.drop_back())))
    return failure();                                // rms_norm_c3
  return expectWidth(*this, getWidth(), getInput()); // rms_norm_c4
}

static DimensionMapping scaledRowMapping(Operation *op, Value scale) {
  return scale ? hone::detail::rowMapping(op, scale)
               : hone::detail::rowMapping(op);
}

DimensionMapping RmsNormOp::getDimensionMapping() {
  return scaledRowMapping(*this, getScale());
}

LogicalResult LayerNormBwdOp::verify() {
  Type type = getInput().getType();
  if (failed(expectRankAtLeastOne(*this, "input", getInput())) ||
      failed(expectType(*this, "grad", getGrad(), type)) ||
      failed(expectType(*this, "result", getResult(), type)))
    return failure(); // layer_norm_bwd_c1
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (failed(expectShape(*this, "mean", getMean(), shape.drop_back())) ||
      failed(expectShape(*this, "rstd", getRstd(), shape.drop_back())))
    return failure(); // layer_norm_bwd_c2
  if (failed(expectShape(*this, "scale", getScale(), shape.back())))
    return failure();                                // layer_norm_bwd_c3
  return expectWidth(*this, getWidth(), getInput()); // layer_norm_bwd_c4
}

DimensionMapping LayerNormBwdOp::getDimensionMapping() {
  return scaledRowMapping(*this, getScale());
}

LogicalResult RmsNormBwdOp::verify() {
  Type type = getInput().getType();
  if (failed(expectRankAtLeastOne(*this, "input", getInput())) ||
      failed(expectType(*this, "grad", getGrad(), type)) ||
      failed(expectType(*this, "result", getResult(), type)))
    return failure(); // rms_norm_bwd_c1
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (failed(expectShape(*this, "rstd", getRstd(), shape.drop_back())))
    return failure(); // rms_norm_bwd_c2
  if (failed(expectShape(*this, "scale", getScale(), shape.back())))
    return failure();                                // rms_norm_bwd_c3
  return expectWidth(*this, getWidth(), getInput()); // rms_norm_bwd_c4
}

DimensionMapping RmsNormBwdOp::getDimensionMapping() {
  return scaledRowMapping(*this, getScale());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "input", getInput())))
    return failure();                                // softmax_c1
  return expectWidth(*this, getWidth(), getInput()); // softmax_c2
}

LogicalResult SoftmaxBwdOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "output", getOutput())))
    return failure();                                 // softmax_bwd_c1
  return expectWidth(*this, getWidth(), getOutput()); // softmax_bwd_c2
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// Shape of a loss or its gradient: the rows for `none`, else a scalar.
static ArrayRef<int64_t> lossShape(LossReduction reduction,
                                   ArrayRef<int64_t> rows) {
  return reduction == LossReduction::none ? rows : ArrayRef<int64_t>();
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "logits", getLogits())))
    return failure(); // cross_entropy_c1
  ArrayRef<int64_t> rows = shapeOf(getLogits()).drop_back();
  if (failed(expectShape(*this, "targets", getTargets(), rows)))
    return failure(); // cross_entropy_c1
  if (failed(expectShape(*this, "lse", getLse(), rows)))
    return failure(); // cross_entropy_c2
  if (failed(expectShape(*this, "loss", getLoss(),
                         lossShape(getReduction(), rows))))
    return failure(); // cross_entropy_c3
  if (failed(expectFraction(*this, "label_smoothing", getLabelSmoothing(),
                            /*openAbove=*/false)))
    return failure();                                 // cross_entropy_c4
  return expectWidth(*this, getWidth(), getLogits()); // cross_entropy_c5
}

/// Rows are independent; the classes of a row meet in its log-sum-exp and in
/// the logit of its target. A mean is a sum over a number that takes all
/// targets to count.
template <typename LossOp>
static DimensionMapping lossMapping(LossOp op, FactorKind rows) {
  DimensionMapping mapping = hone::detail::rowMapping(op);
  for (Factor &factor : mapping.factors)
    factor.kind = rows;
  mapping.factors.back().kind = FactorKind::Reconcilable;
  return mapping;
}

DimensionMapping CrossEntropyOp::getDimensionMapping() {
  return lossMapping(*this, getReduction() == LossReduction::none
                                ? FactorKind::Parallel
                                : FactorKind::Reduce);
}

LogicalResult CrossEntropyBwdOp::verify() {
  if (failed(expectRankAtLeastOne(*this, "logits", getLogits())) ||
      failed(expectType(*this, "result", getResult(), getLogits().getType())))
    return failure(); // cross_entropy_bwd_c1
  ArrayRef<int64_t> rows = shapeOf(getLogits()).drop_back();
  if (failed(expectShape(*this, "targets", getTargets(), rows)) ||
      failed(expectShape(*this, "lse", getLse(), rows)))
    return failure(); // cross_entropy_bwd_c1
  if (failed(expectShape(*this, "grad", getGrad(),
                         lossShape(getReduction(), rows))))
    return failure(); // cross_entropy_bwd_c2
  if (failed(expectFraction(*this, "label_smoothing", getLabelSmoothing(),
                            /*openAbove=*/false)))
    return failure();                                 // cross_entropy_bwd_c3
  return expectWidth(*this, getWidth(), getLogits()); // cross_entropy_bwd_c4
}

DimensionMapping CrossEntropyBwdOp::getDimensionMapping() {
  return lossMapping(*this, getReduction() == LossReduction::mean
                                ? FactorKind::Reconcilable
                                : FactorKind::Parallel);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Whether `type` is that of operands, or the f32 in which their sums are kept.
static bool isOperandsOrSums(Type type, Type operands) {
  bool areNarrow = operands.getIntOrFloatBitWidth() < 32;
  return type == operands || (areNarrow && type.isF32());
}

/// Checks shapes and types: C1, C2 and C4 of `hone.attention`.
template <typename AttentionLike>
static LogicalResult verifyHeads(AttentionLike op, Value output) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey()),
                    value = shapeOf(op.getValue());
  if (query.size() != 4 || key.size() != 4 || value.size() != 4) // c1
    return op.emitOpError()
           << "query, key and value have ranks " << query.size() << ", "
           << key.size() << " and " << value.size() << ", expected 4";
  if (failed(expectShape(op, "key", op.getKey(),
                         {query[0], key[1], key[2], query[3]})) ||
      failed(expectShape(op, "value", op.getValue(),
                         {query[0], key[1], key[2], value[3]})) ||
      failed(expectShape(op, "result", output,
                         {query[0], query[1], query[2], value[3]})))
    return failure(); // c1
  Type element = getElementTypeOrSelf(op.getQuery());
  constexpr bool maySum = std::is_same_v<AttentionLike, AttentionOp>;
  for (Value other : {Value(op.getKey()), Value(op.getValue()), output}) {
    Type own = getElementTypeOrSelf(other);
    if (own != element && // c1
        !(maySum && other == output && isOperandsOrSums(own, element)))
      return op.emitOpError()
             << "query, key, value and result have element types " << element
             << " and " << own << ", expected one";
  }
  if (key[2] == 0 || query[2] % key[2] != 0) // c2
    return op.emitOpError() << "has " << query[2] << " query heads and "
                            << key[2] << " key heads, expected a multiple";
  if (Value mask = op.getMask()) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    bool ok = shape.size() == 4 && (shape[0] == query[0] || shape[0] == 1) &&
              (shape[1] == query[2] || shape[1] == 1) && shape[2] == query[1] &&
              shape[3] == key[1];
    if (!ok) { // c4
      InFlightDiagnostic diag = op.emitOpError() << "mask has shape ";
      appendShape(diag, shape)
          << ", expected [" << query[0] << " or 1, " << query[2] << " or 1, "
          << query[1] << ", " << key[1] << "]";
      return diag;
    }
  }
  return success();
}

/// C4 of `hone.attention` but for the shape of the mask.
template <typename AttentionLike>
static LogicalResult verifyMasks(AttentionLike op) {
  Value first = firstPositions(op.getMasks());
  size_t known =
      (op.getMask() ? 1 : 0) + (op.getSegments() ? 1 : 0) + (first ? 1 : 0);
  if (op.getMasks().size() != known)
    return op.emitOpError()
           << "mask has " << op.getMasks().size()
           << " operands, expected at most a float tensor, then an integer "
              "tensor, and then first positions";
  int64_t queries = shapeOf(op.getQuery())[1];
  if (first) {
    int64_t runs = shapeOf(first)[0];
    if (runs == 0 || queries % runs != 0)
      return op.emitOpError() << "has " << queries << " queries in " << runs
                              << " runs, expected a multiple";
    if (!op.getDropout().isZero() && !op.getOrigin()) // c7
      return op.emitOpError("has dropout of runs of queries without origin, "
                            "expected both origin and whole");
  }
  if (!op.getSegments())
    return success();
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  int64_t keys = shapeOf(op.getKey())[1];
  if (queries != keys && !first)
    return op.emitOpError() << "has segments of " << queries << " queries and "
                            << keys << " keys, expected as many of both";
  return expectShape(op, "segments", op.getSegments(), {query[0], keys});
}

/// Checks what attention and its backward op have in common: C1 to C7 of
/// `hone.attention`.
template <typename AttentionLike>
static LogicalResult verifyAttention(AttentionLike op, Value output,
                                     Value lse) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  if (failed(verifyHeads(op, output)) || failed(verifyMasks(op)) ||
      failed(expectShape(op, "lse", lse, {query[0], query[2], query[1]})))
    return failure(); // c1, c2, c4, c3
  bool drops = !op.getDropout().isZero();
  if (drops != bool(op.getRng())) // c5
    return op.emitOpError()
           << (drops ? "has dropout without rng" : "has rng without dropout")
           << ", expected both or neither";
  if (failed(expectShape(op, "rng", op.getRng(), {3})))
    return failure();            // c5
  if (op.getRandom().size() > 2) // c7
    return op.emitOpError() << "rng has " << op.getRandom().size()
                            << " operands, expected a key and an origin";
  if (failed(expectShape(op, "origin", op.getOrigin(), {})))
    return failure(); // c7
  if (failed(expectFraction(op, "dropout", op.getDropout(),
                            /*openAbove=*/true)))
    return failure();          // c6
  return verifyRandomPart(op); // c7
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getResult(), getLse()); // attention_c1 .. c7
}

LogicalResult AttentionBwdOp::verify() {
  if (failed(verifyAttention(*this, getOutput(), getLse())) ||
      failed(expectType(*this, "grad", getGrad(), getOutput().getType())))
    return failure(); // attention_bwd_c1
  // Gradients are rounded like the operands, or all are sums.
  Type element = elementOf(getQueryGrad());
  if (!isOperandsOrSums(element, elementOf(getQuery())))
    element = elementOf(getQuery());
  if (failed(expectType(*this, "query_grad", getQueryGrad(),
                        getQuery().getType().clone(element))) ||
      failed(expectType(*this, "key_grad", getKeyGrad(),
                        getKey().getType().clone(element))))
    return failure(); // attention_bwd_c2
  return expectType(*this, "value_grad", getValueGrad(),
                    getValue().getType().clone(element));
}

LogicalResult DecodeAttentionOp::verify() {
  return verifyHeads(*this, getResult()); // decode_attention_c1 .. c3
}

/// Multiply-adds of the products of an attention, causal counted as half.
template <typename AttentionLike>
static int64_t scoreFlops(AttentionLike op, int64_t queryProducts,
                          int64_t valueProducts) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  int64_t keys = shapeOf(op.getKey())[1], width = shapeOf(op.getValue())[3];
  int64_t pairs = query[0] * query[1] * query[2] * keys;
  if (op.getCausal())
    pairs /= 2;
  return 2 * pairs * (queryProducts * query[3] + valueProducts * width);
}

OpCost AttentionOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = scoreFlops(*this, 1, 1);
  return cost;
}

OpCost DecodeAttentionOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = scoreFlops(*this, 1, 1);
  return cost;
}

OpCost AttentionBwdOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  cost.flops = scoreFlops(*this, 3, 2);
  return cost;
}

namespace {
/// Factors of attention: batch, query position, head, key position, widths.
/// Heads are one factor: a run of query heads shares a key head.
enum AttentionFactor { Batch, QueryPos, Head, KeyPos, Width, ValueWidth };
} // namespace

static DimensionFactors keyHead() { return DimensionFactors::shared(Head); }

template <typename AttentionLike>
static DimensionMapping attentionFactors(AttentionLike op, FactorKind queries) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  DimensionMapping mapping;
  mapping.factors = {{query[0], FactorKind::Parallel},
                     {query[1], queries},
                     {query[2], FactorKind::Parallel},
                     {shapeOf(op.getKey())[1], FactorKind::Replicate},
                     {query[3], FactorKind::Replicate},
                     {shapeOf(op.getValue())[3], FactorKind::Replicate}};
  return mapping;
}

/// The kind of query positions in an attention and in its gradient, which sums
/// gradients of keys over them.
static FactorKind kindOfQueries(AttentionOp) { return FactorKind::Parallel; }
static FactorKind kindOfQueries(AttentionBwdOp) { return FactorKind::Reduce; }

/// Whether the op counts the positions of queries from the first of them: for a
/// causal mask, for segments, which are one operand for queries and keys, and
/// for dropout.
template <typename AttentionLike> static bool countsQueries(AttentionLike op) {
  return !firstPositions(op.getMasks()) &&
         (op.getCausal() || op.getSegments() || op.getRng());
}

template <typename AttentionLike>
static DimensionMapping factorsByPosition(AttentionLike op) {
  return attentionFactors(op, countsQueries(op) ? FactorKind::Replicate
                                                : kindOfQueries(op));
}

std::optional<CountedFactor> hone::countedFactorOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<CountedFactor>>(op)
      .Case<AttentionOp, AttentionBwdOp>(
          [](auto attention) -> std::optional<CountedFactor> {
            if (!countsQueries(attention))
              return std::nullopt;
            return CountedFactor{QueryPos, kindOfQueries(attention)};
          })
      .Default([](Operation *) { return std::nullopt; });
}

/// Appends key and origin to the operands.
static void addRandomOperands(DimensionMapping &mapping, RandomOpInterface op) {
  if (op.getRandomKey())
    mapping.operands.push_back({-1});
  if (op.getOrigin())
    mapping.operands.push_back({});
}

/// Dropout is on scores: [batch, head, query, key].
template <typename AttentionLike>
static SmallVector<int64_t> scoreShape(AttentionLike op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  return {query[0], query[2], query[1], shapeOf(op.getKey())[1]};
}
static SmallVector<unsigned> scoreFactors() {
  return {Batch, Head, QueryPos, KeyPos};
}

SmallVector<int64_t> AttentionOp::getRandomShape() { return scoreShape(*this); }
SmallVector<int64_t> AttentionBwdOp::getRandomShape() {
  return scoreShape(*this);
}

/// What follows the key.
static MutableOperandRange originOf(MutableOperandRange random) {
  unsigned count = random.size();
  return random.slice(std::min(count, 1u), count > 1 ? 1 : 0);
}
MutableOperandRange AttentionOp::getOriginMutable() {
  return originOf(getRandomMutable());
}
MutableOperandRange AttentionBwdOp::getOriginMutable() {
  return originOf(getRandomMutable());
}

SmallVector<unsigned> AttentionOp::getRandomFactors() { return scoreFactors(); }
SmallVector<unsigned> AttentionBwdOp::getRandomFactors() {
  return scoreFactors();
}

Value hone::detail::additiveMask(ValueRange masks) {
  bool isFirst =
      !masks.empty() && isa<FloatType>(getElementTypeOrSelf(masks.front()));
  return isFirst ? masks.front() : Value();
}

Value hone::detail::segmentsOf(ValueRange masks) {
  ValueRange others = masks.drop_back(firstPositions(masks) ? 1 : 0);
  bool isLast =
      !others.empty() && isa<IntegerType>(getElementTypeOrSelf(others.back()));
  return isLast ? others.back() : Value();
}

Value hone::firstPositions(ValueRange masks) {
  if (masks.empty() || !getElementTypeOrSelf(masks.back()).isInteger(64) ||
      shapeOf(masks.back()).size() != 1)
    return {};
  return masks.back();
}

int64_t hone::countRuns(ValueRange masks) {
  Value first = firstPositions(masks);
  return first ? shapeOf(first)[0] : 1;
}

static TensorFactors maskDims(Value mask) {
  ArrayRef<int64_t> shape = shapeOf(mask);
  return {shape[0] == 1 ? -1 : Batch, shape[1] == 1 ? -1 : Head, QueryPos,
          KeyPos};
}

/// Where runs of queries begin is each rank's own.
static void addMasks(DimensionMapping &mapping, ValueRange masks) {
  if (Value mask = hone::detail::additiveMask(masks))
    mapping.operands.push_back(maskDims(mask));
  if (hone::detail::segmentsOf(masks))
    mapping.operands.push_back({Batch, KeyPos});
  if (firstPositions(masks))
    mapping.operands.push_back({-1});
}

DimensionMapping AttentionOp::getDimensionMapping() {
  DimensionMapping mapping = factorsByPosition(*this);
  mapping.operands = {{Batch, QueryPos, Head, Width},
                      {Batch, KeyPos, keyHead(), Width},
                      {Batch, KeyPos, keyHead(), ValueWidth}};
  addMasks(mapping, getMasks());
  addRandomOperands(mapping, *this);
  mapping.results = {{Batch, QueryPos, Head, ValueWidth},
                     {Batch, Head, QueryPos}};
  return mapping;
}

DimensionMapping DecodeAttentionOp::getDimensionMapping() {
  DimensionMapping mapping = attentionFactors(*this, FactorKind::Replicate);
  mapping.operands = {{Batch, QueryPos, Head, Width},
                      {Batch, KeyPos, keyHead(), Width},
                      {Batch, KeyPos, keyHead(), ValueWidth},
                      {}};
  if (getMask())
    mapping.operands.push_back(maskDims(getMask()));
  mapping.results = {{Batch, QueryPos, Head, ValueWidth}};
  return mapping;
}

DimensionMapping AttentionBwdOp::getDimensionMapping() {
  DimensionMapping mapping = factorsByPosition(*this);
  TensorFactors output = {Batch, QueryPos, Head, ValueWidth};
  TensorFactors query = {Batch, QueryPos, Head, Width};
  TensorFactors key = {Batch, KeyPos, keyHead(), Width};
  TensorFactors value = {Batch, KeyPos, keyHead(), ValueWidth};
  mapping.operands = {output, query,  key,
                      value,  output, {Batch, Head, QueryPos}};
  addMasks(mapping, getMasks());
  addRandomOperands(mapping, *this);
  mapping.results = {query, key, value};
  return mapping;
}

//===----------------------------------------------------------------------===//
// RoPE, dropout
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (shape.size() != 4 || shape[3] % 2 != 0) { // rope_c1
    InFlightDiagnostic diag = emitOpError() << "input has shape ";
    appendShape(diag, shape)
        << ", expected [batch, position, head, even width]";
    return diag;
  }
  if (failed(expectType(*this, "result", getResult(), getInput().getType())))
    return failure(); // rope_c1
  SmallVector<int64_t> table = {shape[1], shape[3] / 2};
  if (failed(expectShape(*this, "cos", getCos(), table)))
    return failure(); // rope_c2
  return expectShape(*this, "sin", getSin(), table);
}

DimensionMapping RopeOp::getDimensionMapping() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  DimensionMapping mapping;
  mapping.factors = {{shape[0], FactorKind::Parallel},
                     {shape[1], FactorKind::Parallel},
                     {shape[2], FactorKind::Parallel},
                     {shape[3], FactorKind::Replicate}};
  mapping.operands = {{0, 1, 2, 3}, {1, -1}, {1, -1}};
  mapping.results = {{0, 1, 2, 3}};
  return mapping;
}

LogicalResult DropoutOp::verify() {
  if (failed(expectType(*this, "result", getResult(), getInput().getType())))
    return failure(); // dropout_c1
  if (failed(expectShape(*this, "rng", getRng(), {3})))
    return failure(); // dropout_c2
  if (failed(expectFraction(*this, "p", getP(), /*openAbove=*/true)))
    return failure();             // dropout_c3
  return verifyRandomPart(*this); // dropout_c4
}

DimensionMapping DropoutOp::getDimensionMapping() {
  DimensionMapping mapping = hone::detail::elementwiseMapping(*this);
  mapping.operands[1] = {-1}; // the key, also where the input has rank 1
  return mapping;
}
