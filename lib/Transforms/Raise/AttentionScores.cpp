//===- AttentionScores.cpp - What a softmax of scores is made of ----------===//

#include "AttentionScores.h"
#include "Patterns.h"
#include "hone/Analysis/Attention/Mask.h"

#include <cmath>

using namespace mlir;
using namespace hone;

bool hone::isCausalMask(Value mask) {
  std::optional<PairValue> pairs = evaluatePairs(mask);
  return pairs && pairs->isSplit && pairs->upTo == 0.0 &&
         pairs->after <= lowScore;
}

Value hone::peelLeading(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape || !reshape->hasOneUse())
    return {};
  ArrayRef<int64_t> to = shapeOf(value), from = shapeOf(reshape.getOperand());
  bool same = to.size() >= 3 && from.size() >= 3 &&
              to.take_back(2) == from.take_back(2);
  return same ? reshape.getOperand() : Value();
}

namespace {
/// Walks from the input of the softmax to q k^T. Each step returns the operand
/// that it goes on to, or null after it set the reason why it cannot.
class ScoreMatcher {
public:
  explicit ScoreMatcher(StringRef &reason) : reason(reason) {}

  FailureOr<AttentionScores> match(Value value);

private:
  Value fail(StringRef why) {
    reason = why;
    return {};
  }
  Value step(Value value);
  Value throughScale(Operation *op);
  Value throughSelect(SelectOp select);
  Value throughSum(AddOp add);

  StringRef &reason;
  AttentionScores scores;
};
} // namespace

/// x * number, number * x or x / number
Value ScoreMatcher::throughScale(Operation *op) {
  bool isProduct = isa<MulOp>(op);
  Value value = op->getOperand(0);
  std::optional<double> number = constantOf(op->getOperand(1));
  if (!number && isProduct) {
    number = constantOf(op->getOperand(0));
    value = op->getOperand(1);
  }
  if (!number)
    return fail("scores are scaled by something else than a number");
  scores.scale *= isProduct ? *number : 1.0 / *number;
  return value;
}

/// A choice between the scores and a number that masks them.
Value ScoreMatcher::throughSelect(SelectOp select) {
  bool keepWhenTrue = constantOf(select.getOnFalse()).has_value();
  Value kept = keepWhenTrue ? select.getOnTrue() : select.getOnFalse();
  std::optional<double> fill =
      constantOf(keepWhenTrue ? select.getOnFalse() : select.getOnTrue());
  if (!fill || *fill > lowScore)
    return fail("masked scores are not lowest");
  if (scores.scale != 1.0 && (!std::isinf(*fill) || scores.scale < 0.0))
    return fail("the mask is scaled, too");
  std::optional<PairValue> pairs = evaluatePairs(select.getPred());
  bool causal = pairs && pairs->isSplit &&
                (pairs->upTo != 0.0) == keepWhenTrue &&
                (pairs->after != 0.0) != keepWhenTrue;
  if (causal) {
    scores.causal = true;
    return kept;
  }
  // A row masked everywhere is uniform for a finite number, and NaN for -inf.
  // Where equal ids are kept, every query keeps its own key.
  if ((!std::isinf(*fill) &&
       !findVisiblePairs(select.getPred(), keepWhenTrue)) ||
      scores.keep)
    return fail("masked scores are not -inf");
  scores.keep = select.getPred();
  scores.keepWhenTrue = keepWhenTrue;
  return kept;
}

/// Whether scales, masks and reshapes lead from `start` to a product.
static bool leadsToDot(Value start) {
  Operation *next = start.getDefiningOp();
  while (isa_and_present<MulOp, DivOp, AddOp, SelectOp, ReshapeOp>(next)) {
    bool isSelect = isa<SelectOp>(next);
    Value through = next->getOperand(isSelect ? 1 : 0);
    if (constantOf(through))
      through = next->getOperand(isSelect ? 2 : 1);
    next = through.getDefiningOp();
  }
  return isa_and_present<DotGeneralOp>(next);
}

/// Scores and a mask, which is the operand that does not lead to a product.
Value ScoreMatcher::throughSum(AddOp add) {
  if (scores.scale != 1.0)
    return fail("the mask is scaled, too");
  bool lhsIsScores = leadsToDot(add.getLhs());
  if (!lhsIsScores && !leadsToDot(add.getRhs()))
    return fail("scores are no product");
  Value mask = lhsIsScores ? add.getRhs() : add.getLhs();
  Value value = lhsIsScores ? add.getLhs() : add.getRhs();
  if (isCausalMask(mask)) {
    scores.causal = true;
    return value;
  }
  if (dependsOnTrained(mask))
    return fail("mask depends on a parameter that requires a gradient");
  if (scores.mask)
    return fail("scores have two masks");
  scores.mask = mask;
  return value;
}

Value ScoreMatcher::step(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return fail("scores are no product");
  if (Value inner = peelLeading(value))
    return inner;
  if (isa<MulOp, DivOp>(op))
    return throughScale(op);
  if (auto select = dyn_cast<SelectOp>(op))
    return throughSelect(select);
  if (auto add = dyn_cast<AddOp>(op))
    return throughSum(add);
  return fail("scores come from another op");
}

FailureOr<AttentionScores> ScoreMatcher::match(Value value) {
  while (value) {
    if (shapeOf(value).size() == 4)
      scores.apart = shapeOf(value);
    if (auto dot = value.getDefiningOp<DotGeneralOp>()) {
      scores.dot = dot;
      return scores;
    }
    value = step(value);
  }
  return failure();
}

FailureOr<AttentionScores> hone::matchAttentionScores(Value value,
                                                      StringRef &reason) {
  return ScoreMatcher(reason).match(value);
}
