//===- DecomposeRows.cpp - Named row ops as primitives --------------------===//
//
// Norms, softmax, cross entropy and their backward ops, written as the
// elementwise ops, broadcasts and reductions their descriptions spell.
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hone {
#define GEN_PASS_DEF_DECOMPOSEROWS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

/// What replaces the results of an op.
using Results = SmallVector<Value>;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static Results decompose(LayerNormOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getInput(), op.getWidth(), rewriter);
  Value x = r.masked(r.widen(op.getInput()));
  Value mean = r.meanRow(x);
  Value centred = r.masked(r.sub(x, r.perRow(mean)));
  // Two passes: the centred sum of squares does not cancel.
  Value variance = r.meanRow(r.mul(centred, centred));
  Value eps = r.splat(r.rows, op.getEps().convertToDouble());
  Value rstd = r.b.create<RsqrtOp>(r.add(variance, eps));
  Value y = r.mul(centred, r.perRow(rstd));
  if (op.getScale())
    y = r.mul(y, r.perColumn(op.getScale()));
  if (op.getBias())
    y = r.masked(r.add(y, r.perColumn(op.getBias())));
  return {r.narrow(y, op.getResult()), r.narrow(mean, op.getMean()),
          r.narrow(rstd, op.getRstd())};
}

static Results decompose(RmsNormOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getInput(), op.getWidth(), rewriter);
  Value x = r.masked(r.widen(op.getInput()));
  Value eps = r.splat(r.rows, op.getEps().convertToDouble());
  Value rstd = r.b.create<RsqrtOp>(r.add(r.meanRow(r.mul(x, x)), eps));
  Value y = r.mul(x, r.perRow(rstd));
  if (op.getScale())
    y = r.mul(y, r.perColumn(op.getScale()));
  return {r.narrow(y, op.getResult()), r.narrow(rstd, op.getRstd())};
}

static Results decompose(LayerNormBwdOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getInput(), op.getWidth(), rewriter);
  Value g = r.masked(r.widen(op.getGrad()));
  if (op.getScale())
    g = r.mul(g, r.perColumn(op.getScale()));
  Value mean = r.perRow(r.widen(op.getMean()));
  Value rstd = r.perRow(r.widen(op.getRstd()));
  Value h = r.mul(r.sub(r.widen(op.getInput()), mean), rstd);
  Value gMean = r.perRow(r.meanRow(g));
  Value ghMean = r.perRow(r.meanRow(r.mul(g, h)));
  Value projected = r.mul(h, ghMean);
  Value dx = r.masked(r.mul(rstd, r.sub(r.sub(g, gMean), projected)));
  return {r.narrow(dx, op.getResult())};
}

static Results decompose(RmsNormBwdOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getInput(), op.getWidth(), rewriter);
  Value g = r.masked(r.widen(op.getGrad()));
  if (op.getScale())
    g = r.mul(g, r.perColumn(op.getScale()));
  Value rstd = r.perRow(r.widen(op.getRstd()));
  Value h = r.masked(r.mul(r.widen(op.getInput()), rstd));
  Value ghMean = r.perRow(r.meanRow(r.mul(g, h)));
  Value dx = r.mul(rstd, r.sub(g, r.mul(h, ghMean)));
  return {r.narrow(dx, op.getResult())};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Results decompose(SoftmaxOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getInput(), op.getWidth(), rewriter);
  Value x = r.masked(r.widen(op.getInput()), minusInfinity);
  Value max = r.perRow(r.reduceRow(ReduceKind::max, x));
  Value e = r.exp(r.sub(x, max));
  Value y = r.div(e, r.perRow(r.sumRow(e)));
  return {r.narrow(y, op.getResult())};
}

static Results decompose(SoftmaxBwdOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getOutput(), op.getWidth(), rewriter);
  Value g = r.masked(r.widen(op.getGrad()));
  Value y = r.masked(r.widen(op.getOutput()));
  Value dot = r.perRow(r.sumRow(r.mul(g, y)));
  Value dx = r.mul(y, r.sub(g, dot));
  return {r.narrow(dx, op.getResult())};
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// i1 per element of [rows..., width]: the column is the row's target. Columns
/// count in i32, which holds any of them (i8 would wrap) and packs 16 to a
/// vector; an ignored target matches none or a row that is masked later.
static Value isTarget(RowBuilder &r, Value targets) {
  Type i32 = r.b.getI32Type();
  Value column =
      r.b.create<IotaOp>(r.full.clone(i32), uint64_t(r.full.getRank() - 1));
  Value target = r.perRow(r.castTo(targets, i32));
  return r.b.create<CmpOp>(r.full.clone(r.b.getI1Type()), CmpPredicate::eq,
                           column, target);
}

/// i1 per row: the target is not `ignoreIndex`. Null when no target can be,
/// because their type does not hold it.
static Value isValid(RowBuilder &r, Value targets, int64_t ignoreIndex) {
  auto type = cast<RankedTensorType>(targets.getType());
  unsigned bits = type.getElementTypeBitWidth();
  if (!llvm::isIntN(bits, ignoreIndex))
    return {};
  auto ignore =
      DenseElementsAttr::get(type, APInt(bits, ignoreIndex, /*signed=*/true));
  return r.b.create<CmpOp>(r.rows.clone(r.b.getI1Type()), CmpPredicate::ne,
                           targets, r.b.create<ConstantOp>(ignore));
}

static Value zeroUnlessValid(RowBuilder &r, Value valid, Value value) {
  return valid ? r.b.create<SelectOp>(valid, value, r.splat(r.rows, 0.0))
               : value;
}

/// Number of valid rows, of rank 0 (exact to 2^24 rows in fp32).
static Value countValid(RowBuilder &r, Value valid) {
  if (valid)
    return r.sumRows(r.widen(valid));
  return r.splat(RankedTensorType::get({}, r.computeType()),
                 double(r.rows.getNumElements()));
}

static Results decompose(CrossEntropyOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getLogits(), op.getWidth(), rewriter);
  Value logits = r.widen(op.getLogits());
  Value x = r.masked(logits, minusInfinity);
  Value max = r.reduceRow(ReduceKind::max, x);
  Value sum = r.sumRow(r.exp(r.sub(x, r.perRow(max))));
  Value lse = r.add(max, r.b.create<LogOp>(sum));

  // One term of this sum is not zero.
  Value target = isTarget(r, op.getTargets());
  Value zero = r.splat(r.full, 0.0);
  Value picked = r.b.create<SelectOp>(target, x, zero);
  Value loss = r.sub(lse, r.sumRow(picked));
  if (double s = op.getLabelSmoothing().convertToDouble()) {
    Value smooth = r.sub(lse, r.meanRow(r.masked(logits)));
    loss = r.scale(loss, 1.0 - s);
    loss = r.add(loss, r.scale(smooth, s));
  }
  Value valid = isValid(r, op.getTargets(), op.getIgnoreIndex());
  loss = zeroUnlessValid(r, valid, loss);
  if (op.getReduction() != LossReduction::none)
    loss = r.sumRows(loss);
  if (op.getReduction() == LossReduction::mean)
    loss = r.div(loss, countValid(r, valid));
  return {r.narrow(loss, op.getLoss()), r.narrow(lse, op.getLse())};
}

static Results decompose(CrossEntropyBwdOp op, PatternRewriter &rewriter) {
  RowBuilder r(op, op.getLogits(), op.getWidth(), rewriter);
  double s = op.getLabelSmoothing().convertToDouble();
  Value valid = isValid(r, op.getTargets(), op.getIgnoreIndex());
  Value weight = r.widen(op.getGrad());
  if (op.getReduction() == LossReduction::mean)
    weight = r.div(weight, countValid(r, valid));
  if (op.getReduction() != LossReduction::none)
    weight = r.everyRow(weight);
  weight = zeroUnlessValid(r, valid, weight);

  Value x = r.widen(op.getLogits());
  Value lse = r.perRow(r.widen(op.getLse()));
  Value target = isTarget(r, op.getTargets());
  Value one = r.splat(r.full, 1.0 - s), zero = r.splat(r.full, 0.0);
  Value expected = r.b.create<SelectOp>(target, one, zero);
  Value dx = r.sub(r.exp(r.sub(x, lse)), expected);
  if (s != 0.0)
    dx = r.sub(dx, r.splat(r.full, s / double(r.width())));
  dx = r.masked(r.mul(dx, r.perRow(weight)));
  return {r.narrow(dx, op.getResult())};
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
template <typename OpT> struct Decompose : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, decompose(op, rewriter));
    return success();
  }
};

struct DecomposeRows : hone::impl::DecomposeRowsBase<DecomposeRows> {
  void runOnOperation() override {
    run<LayerNormOp, RmsNormOp, LayerNormBwdOp, RmsNormBwdOp, SoftmaxOp,
        SoftmaxBwdOp, CrossEntropyOp, CrossEntropyBwdOp>();
  }

  template <typename... OpTs> void run() {
    RewritePatternSet patterns(&getContext());
    patterns.add<Decompose<OpTs>...>(&getContext());
    SmallVector<Operation *> named;
    getOperation().walk([&](Operation *op) {
      if (isa<OpTs...>(op))
        named.push_back(op);
    });
    // Only these: the rest of the function is not this pass's to fold.
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingOps;
    if (failed(applyOpPatternsAndFold(named, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
