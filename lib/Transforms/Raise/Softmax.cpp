//===- Softmax.cpp - Finds softmax written out ----------------------------===//
//
//   exp(x - m) / sum(exp(x - m)), m the row maximum    is softmax
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace hone;

namespace {
struct SoftmaxOfQuotient : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto exp = op.getLhs().getDefiningOp<ExpOp>();
    Value rows = exp ? matchPerRow(op.getRhs()) : Value();
    auto sum = rows ? rows.getDefiningOp<ReduceOp>() : ReduceOp();
    if (!sum || sum.getKind() != ReduceKind::sum || !sum.isRowReduction() ||
        sum.getOperand() != exp.getResult())
      return rewriter.notifyMatchFailure(op, "is no quotient of exponentials "
                                             "and their sum");
    auto sub = exp.getOperand().getDefiningOp<SubOp>();
    Value shift = sub ? matchPerRow(sub.getRhs()) : Value();
    if (!shift)
      return rewriter.notifyMatchFailure(op, "exponents are no difference");
    // A shift that is differentiated, or not, gives the same derivative; only
    // its size matters, and the row maximum is what hone.softmax takes.
    if (auto stop = shift.getDefiningOp<StopGradientOp>())
      shift = peelReshapes(stop.getOperand());
    auto max = shift.getDefiningOp<ReduceOp>();
    if (!max || max.getKind() != ReduceKind::max || !max.isRowReduction() ||
        max.getOperand() != sub.getLhs())
      return rewriter.notifyMatchFailure(op, "shift is not the row maximum");
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, op.getType(), sub.getLhs());
    return success();
  }
};
} // namespace

void hone::populateRaiseSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<SoftmaxOfQuotient>(patterns.getContext());
}
