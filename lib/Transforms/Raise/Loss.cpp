//===- Loss.cpp - Finds cross entropy -------------------------------------===//
//
//   -log_softmax(x)[t], with 0 where t is ignored     is cross_entropy none
//   logsumexp(x) - x[t]                               is cross_entropy none
//   their sum over the number of rows not ignored     is cross_entropy mean
//
// log_softmax is x - (log(sum(exp(x - m))) + m), m the row maximum.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace hone;

/// `rows`, or m if it is m where m is finite and else 0: the guard of
/// logsumexp, which matters to rows that have no finite loss anyway.
static Value withoutFiniteGuard(Value rows) {
  auto select = rows.getDefiningOp<SelectOp>();
  auto cmp = select ? select.getPred().getDefiningOp<CmpOp>() : CmpOp();
  if (!cmp || cmp.getPredicate() != CmpPredicate::lt ||
      constantOf(select.getOnFalse()) != 0.0 ||
      constantOf(cmp.getRhs()) != std::numeric_limits<double>::infinity())
    return rows;
  auto abs = cmp.getLhs().getDefiningOp<AbsOp>();
  bool guardsItself = abs && abs.getOperand() == select.getOnTrue();
  return guardsItself ? peelReshapes(select.getOnTrue()) : rows;
}

/// `rows`, or x if it is |x|: for a sum of exponentials the same.
static Value withoutAbs(Value rows) {
  auto abs = peelReshapes(rows).getDefiningOp<AbsOp>();
  return peelReshapes(abs ? abs.getOperand() : rows);
}

/// If `rows` is log(sum(exp(x - m))) + m over the last dimension, and m the
/// row maximum: true.
static bool isLogSumExp(Value rows, Value x) {
  auto add = peelReshapes(rows).getDefiningOp<AddOp>();
  if (!add)
    return false;
  for (auto [logs, shift] : {std::pair(add.getLhs(), add.getRhs()),
                             std::pair(add.getRhs(), add.getLhs())}) {
    auto log = peelReshapes(logs).getDefiningOp<LogOp>();
    auto sum = log ? withoutAbs(log.getOperand()).getDefiningOp<ReduceOp>()
                   : ReduceOp();
    if (!sum || sum.getKind() != ReduceKind::sum || !sum.isRowReduction())
      continue;
    auto exp = sum.getOperand().getDefiningOp<ExpOp>();
    auto sub = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
    if (!sub || sub.getLhs() != x)
      continue;
    Value inner = matchPerRow(sub.getRhs());
    if (!inner || inner != peelReshapes(shift))
      continue;
    // A shift that is differentiated, or not, gives the same derivative; only
    // its size matters, and the row maximum is what hone.cross_entropy takes.
    if (auto stop = inner.getDefiningOp<StopGradientOp>())
      inner = peelReshapes(stop.getOperand());
    inner = withoutFiniteGuard(inner);
    auto max = inner.getDefiningOp<ReduceOp>();
    if (max && max.getKind() == ReduceKind::max && max.isRowReduction() &&
        max.getOperand() == x)
      return true;
  }
  return false;
}

/// If `pred` is `iota == t` along the last dimension: t, of the rows' shape.
static Value matchOneHot(Value pred) {
  auto cmp = pred.getDefiningOp<CmpOp>();
  if (!cmp || cmp.getPredicate() != CmpPredicate::eq)
    return {};
  for (auto [index, target] : {std::pair(cmp.getLhs(), cmp.getRhs()),
                               std::pair(cmp.getRhs(), cmp.getLhs())}) {
    auto iota = index.getDefiningOp<IotaOp>();
    if (iota && int64_t(iota.getDim()) + 1 == int64_t(shapeOf(index).size()))
      return matchPerRow(target);
  }
  return {};
}

namespace {
/// sum over classes of (class == t ? x - lse : 0)
struct CrossEntropyOfPick : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != ReduceKind::sum || !op.isRowReduction())
      return rewriter.notifyMatchFailure(op, "is no sum over classes");
    auto pick = op.getOperand().getDefiningOp<SelectOp>();
    if (!pick || constantOf(pick.getOnFalse()) != 0.0)
      return rewriter.notifyMatchFailure(op, "sum is not over a masked row");
    Value difference = peelReshapes(pick.getOnTrue());
    auto logp = difference.getDefiningOp<SubOp>();
    Value target = matchOneHot(pick.getPred());
    if (!logp || !target)
      return rewriter.notifyMatchFailure(op, "no class is picked from a "
                                             "difference");
    Value x = logp.getLhs();
    if (shapeOf(x).back() != shapeOf(pick).back())
      return rewriter.notifyMatchFailure(op, "classes are reshaped");
    Value lse = matchPerRow(logp.getRhs());
    if (!lse || !isLogSumExp(lse, x))
      return rewriter.notifyMatchFailure(op, "row is not x - logsumexp(x)");

    auto type = cast<RankedTensorType>(x.getType());
    RankedTensorType rows = type.clone(type.getShape().drop_back());
    auto targetType = cast<RankedTensorType>(target.getType());
    Value ids = rewriter.createOrFold<ReshapeOp>(
        op.getLoc(), targetType.clone(rows.getShape()), target);
    // No class is negative: such a target picks nothing, and is ignored.
    auto loss = rewriter.create<CrossEntropyOp>(
        op.getLoc(), TypeRange{rows, rows}, LossReduction::none, x, ids,
        /*ignore_index=*/int64_t(-100), APFloat(0.0));
    Value negative = rewriter.create<NegOp>(
        op.getLoc(), rewriter.createOrFold<ReshapeOp>(op.getLoc(), op.getType(),
                                                      loss.getLoss()));
    rewriter.replaceOp(op, negative);
    return success();
  }
};

/// logsumexp(x) - sum over classes of (class == t ? x : 0)
struct CrossEntropyOfScores : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op,
                                PatternRewriter &rewriter) const override {
    auto sum = peelReshapes(op.getRhs()).getDefiningOp<ReduceOp>();
    if (!sum || sum.getKind() != ReduceKind::sum || !sum.isRowReduction())
      return rewriter.notifyMatchFailure(op, "no sum over classes is taken "
                                             "away");
    auto pick = sum.getOperand().getDefiningOp<SelectOp>();
    Value target = pick ? matchOneHot(pick.getPred()) : Value();
    if (!target || constantOf(pick.getOnFalse()) != 0.0)
      return rewriter.notifyMatchFailure(op, "sum is not over a masked row");
    Value x = pick.getOnTrue();
    if (!isLogSumExp(op.getLhs(), x))
      return rewriter.notifyMatchFailure(op, "is not taken from logsumexp(x)");

    auto type = cast<RankedTensorType>(x.getType());
    RankedTensorType rows = type.clone(type.getShape().drop_back());
    auto targetType = cast<RankedTensorType>(target.getType());
    Value ids = rewriter.createOrFold<ReshapeOp>(
        op.getLoc(), targetType.clone(rows.getShape()), target);
    // No class is ignored; the op refuses one that is not in the row.
    auto loss = rewriter.create<CrossEntropyOp>(
        op.getLoc(), TypeRange{rows, rows}, LossReduction::none, x, ids,
        /*ignore_index=*/int64_t(std::numeric_limits<int32_t>::min()),
        APFloat(0.0));
    rewriter.replaceOp(op, rewriter.createOrFold<ReshapeOp>(
                               op.getLoc(), op.getType(), loss.getLoss()));
    return success();
  }
};

/// select(t != ignored, cross_entropy none, 0)
struct FoldIgnoredRows : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op,
                                PatternRewriter &rewriter) const override {
    auto loss = peelReshapes(op.getOnTrue()).getDefiningOp<CrossEntropyOp>();
    auto cmp = op.getPred().getDefiningOp<CmpOp>();
    if (!loss || !cmp || loss.getReduction() != LossReduction::none ||
        constantOf(op.getOnFalse()) != 0.0 ||
        cmp.getPredicate() != CmpPredicate::ne)
      return rewriter.notifyMatchFailure(op, "is no choice between rows of a "
                                             "cross entropy and 0");
    DenseIntElementsAttr ignored;
    if (!matchPattern(cmp.getRhs(), m_Constant(&ignored)) ||
        !ignored.isSplat() ||
        peelReshapes(cmp.getLhs()) != peelReshapes(loss.getTargets()))
      return rewriter.notifyMatchFailure(op, "does not compare the targets "
                                             "with a number");
    // With another number both would be ignored, and the op knows only one.
    if (ignored.getSplatValue<APInt>().getSExtValue() !=
        int64_t(loss.getIgnoreIndex()))
      return rewriter.notifyMatchFailure(op, "another target is ignored");
    rewriter.replaceOp(op, op.getOnTrue());
    return success();
  }
};

/// sum(cross_entropy none) / sum(t != ignored)
struct MeanOfRows : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    if (!shapeOf(op).empty())
      return rewriter.notifyMatchFailure(op, "is not of rank 0");
    auto total = op.getLhs().getDefiningOp<ReduceOp>();
    auto count = op.getRhs().getDefiningOp<ReduceOp>();
    if (!total || !count || total.getKind() != ReduceKind::sum ||
        count.getKind() != ReduceKind::sum)
      return rewriter.notifyMatchFailure(op, "is no quotient of sums");
    auto loss =
        peelReshapes(total.getOperand()).getDefiningOp<CrossEntropyOp>();
    auto kept = count.getOperand().getDefiningOp<CastOp>();
    auto cmp = kept ? kept.getOperand().getDefiningOp<CmpOp>() : CmpOp();
    DenseIntElementsAttr ignored;
    if (!loss || !cmp || loss.getReduction() != LossReduction::none ||
        cmp.getPredicate() != CmpPredicate::ne ||
        peelReshapes(cmp.getLhs()) != peelReshapes(loss.getTargets()) ||
        !matchPattern(cmp.getRhs(), m_Constant(&ignored)) ||
        !ignored.isSplat() ||
        ignored.getSplatValue<APInt>().getSExtValue() !=
            int64_t(loss.getIgnoreIndex()))
      return rewriter.notifyMatchFailure(op, "is no mean over the rows that "
                                             "are not ignored");
    auto mean = rewriter.create<CrossEntropyOp>(
        op.getLoc(), TypeRange{op.getType(), loss.getLse().getType()},
        LossReduction::mean, loss.getLogits(), loss.getTargets(),
        loss.getIgnoreIndex(), loss.getLabelSmoothing());
    rewriter.replaceOp(op, mean.getLoss());
    return success();
  }
};
} // namespace

void hone::populateRaiseLossPatterns(RewritePatternSet &patterns) {
  patterns.add<CrossEntropyOfPick, CrossEntropyOfScores, FoldIgnoredRows,
               MeanOfRows>(patterns.getContext());
}
